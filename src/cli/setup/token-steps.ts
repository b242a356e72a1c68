import { randomBytes } from 'node:crypto';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { readSecretBytes } from '../../config/secret-reference.ts';
import { loadTokenConfig } from '../../config/config.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { loadProfile, modulePath } from '../../token/host/module-profile.ts';
import { hasForm } from '../../token/host/pin.ts';
import { TokenFailure } from '../../token/operator/token-failure.ts';
import { giveRootMadeFiles } from '../../service/root-made-files.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { tokenInit } from '../token/init.ts';
import { tokenInventory } from '../token/inventory.ts';
import { tokenProbe } from '../token/probe.ts';
import { tokenSlots } from '../token/slots.ts';
import { removeCredential, storeCredential } from './credentials.ts';
import { writeDraft } from './draft.ts';
import { ownDirectory, run, writeOwned } from './machine.ts';
import { places, users } from './places.ts';
import { listOf, type Answers } from './question.ts';
import type { Step, StepContext } from './step.ts';
import { isPostgresql } from './state-database.ts';
import { askSecret } from '../terminal.ts';

const generatedPinBytes = 12;

/** Accounts and directories; the package has made them, except for the state store. */
export const directoriesStep: Step = {
  name: 'directories',
  title: 'Making the accounts and directories',
  async run({ progress }) {
    run('systemd-sysusers', []);
    run('systemd-tmpfiles', ['--create', '/usr/lib/tmpfiles.d/signetd.conf']);
    ownDirectory(places.state, users.service, users.service, 0o700);
    ownDirectory(places.tokenHome, users.token, users.tokenGroup, 0o700);
    ownDirectory(places.tls, 'root', users.service, 0o750);
    ownDirectory(places.pki, 'root', users.service, 0o750);
    // Commands of root write to it before the service does, and must not own it.
    if (!isPostgresql(progress.answers) && !existsSync(places.database)) writeFileSync(places.database, '', { flag: 'wx', mode: 0o600 });
    giveRootMadeFiles(places.state);
    return Promise.resolve(undefined);
  },
};

/** What the token host needs beside its unit. */
export const moduleStep: Step = {
  name: 'module',
  title: 'Preparing the PKCS#11 module',
  async run({ progress }) {
    const { answers } = progress;
    if (answers.token === 'softhsm') {
      ownDirectory(places.softwareTokens, users.token, users.tokenGroup, 0o700);
      const settings = [
        '# SoftHSM is software, for trials only. Written by signetctl setup.',
        `directories.tokendir = ${places.softwareTokens}`,
        'objectstore.backend = file',
        'log.level = ERROR',
        'slots.removable = false',
      ];
      writeOwned(places.softwareTokenSettings, `${settings.join('\n')}\n`, 0o640, users.service);
    }
    const { path, lines } = dropIn(answers, writeDraft(progress));
    if (lines.length > 0) {
      const comment = `# Written by signetctl setup, for the module ${path}.`;
      writeOwned(places.tokenDropIn, `${[comment, '[Service]', ...lines].join('\n')}\n`, 0o644);
      run('systemctl', ['daemon-reload']);
    }
    return Promise.resolve(undefined);
  },
};

/** Returns the exceptions to the hardening that a module needs (docs/units.md). */
function dropIn(answers: Answers, draft: string): { readonly path: string; readonly lines: readonly string[] } {
  const path = modulePathOf(draft);
  const { hsmAddress, hsmDevice, hsmGroup, hsmWrites, hsmExecutableMemory } = answers;
  const directory = path.slice(0, path.lastIndexOf('/'));
  const lines = [
    ...(/^\/usr\/lib(64)?\//.test(path) ? [] : [`ExecPaths=${directory}`]),
    ...(hsmAddress === ''
      ? []
      : ['PrivateNetwork=no', 'RestrictAddressFamilies=AF_INET AF_INET6', ...listOf(hsmAddress).map((one) => `IPAddressAllow=${one}`)]),
    ...(hsmDevice === '' ? [] : ['PrivateDevices=no', `DeviceAllow=${hsmDevice} rw`]),
    ...(hsmGroup === '' ? [] : [`SupplementaryGroups=${hsmGroup}`]),
    ...(hsmWrites === '' ? [] : [`ReadWritePaths=${hsmWrites}`]),
    ...(hsmExecutableMemory === 'yes' ? ['MemoryDenyWriteExecute=no'] : []),
  ];
  return { path, lines };
}

/** @throws {CommandError} if the module is not installed */
function modulePathOf(draft: string): string {
  const config = loadTokenConfig(draft);
  try {
    return modulePath(config, loadProfile(config.profile));
  } catch (error) {
    const hint = config.profile === 'softhsm2' ? ' (Debian: apt install softhsm2)' : '; --module names another file';
    throw new CommandError(exitCodes.tokenUnreachable, `${reasonOf(error)}${hint}`);
  }
}

/** The PIN as a credential of the token host's unit, before anything needs it. */
export const pinStep: Step = {
  name: 'pin',
  title: 'Storing the PIN as a credential',
  async run({ progress, options }) {
    const pin = await pinOf({ progress, options });
    const { pin: form } = loadProfile(loadTokenConfig(writeDraft(progress)).profile);
    if (form !== undefined && !hasForm(form.pattern, pin))
      throw new CommandError(exitCodes.usage, `the PIN does not have the form that this HSM needs: ${form.form}`);
    storeCredential('pin', pin, options.credentialKey);
    pin.fill(0);
    if (progress.answers.token === 'softhsm')
      storeCredential('so-pin', randomBytes(generatedPinBytes).toString('hex'), options.credentialKey);
    return undefined;
  },
};

async function pinOf({ progress, options: { pinFile, asks } }: StepContext): Promise<Uint8Array> {
  if (pinFile !== undefined) {
    const { mtimeMs: changedMs, size: bytes } = statSync(pinFile);
    const refused = progress.values.refusedPin;
    if (refused?.file === pinFile && refused.changedMs === changedMs && refused.bytes === bytes)
      throw new CommandError(
        exitCodes.pinRefused,
        `the token refused the PIN in ${pinFile}, which has not changed since: correct it first`,
      );
    return readSecretBytes(`file:${pinFile}`, 'anyone');
  }
  if (progress.answers.token === 'softhsm') return Buffer.from(randomBytes(generatedPinBytes).toString('hex'));
  if (!asks) throw new CommandError(exitCodes.usage, '--pin-file is missing: a file of mode 0600 with the PIN of the token');
  const pin = await askSecret('PIN of the token (it is tried once):');
  if (pin === '') throw new CommandError(exitCodes.usage, 'the PIN is empty');
  return Buffer.from(pin);
}

const Slots = z.object({ configured: z.array(z.string()) });
const Inventory = z.object({ objects: z.array(z.object({ id: z.string() })) });

/** The token: initialised if it is a new software token; it must have no key of signetd. */
export const tokenStep: Step = {
  name: 'token',
  title: 'Checking the token',
  async run(context) {
    const { progress } = context;
    const { token, label } = progress.answers;
    const draft = writeDraft(progress);
    const isThere = Slots.parse((await tokenSlots(draft)).json).configured.length > 0;
    if (!isThere) {
      if (token !== 'softhsm')
        throw new CommandError(exitCodes.tokenUnreachable, `no token has the label "${label}": initialise it with the tools of its vendor`);
      await tokenInit(draft, { label, soPin: 'credential:so-pin', pin: 'credential:pin', reinitialise: false });
    }
    const keys = await keysOf(draft, context);
    if (keys > 0)
      throw new CommandError(
        exitCodes.refused,
        `the token "${label}" has ${keys} keys of signetd already, which setup does not touch: restore the configuration and the state store that belong to them, or use another token`,
      );
    const { faults = [] } = await tokenProbe(draft, { full: false });
    if (faults.length > 0) throw new CommandError(exitCodes.faultFound, faults.join('\n'));
    return undefined;
  },
};

/**
 * Returns how many keys of signetd are on the token, which takes one login. A PIN that is refused
 * is forgotten, so that nothing tries it a second time.
 */
async function keysOf(draft: string, { progress, options: { pinFile } }: StepContext): Promise<number> {
  try {
    return Inventory.parse((await tokenInventory(draft)).json).objects.length;
  } catch (error) {
    if (error instanceof TokenFailure && error.kind === 'pinRefused') forgetPin(progress, pinFile);
    throw error;
  }
}

function forgetPin(progress: StepContext['progress'], file: string | undefined): void {
  removeCredential('pin');
  const done = progress.values.done.filter((step) => step !== pinStep.name);
  const stats = file === undefined ? undefined : statSync(file);
  const refusedPin = file === undefined || stats === undefined ? undefined : { file, changedMs: stats.mtimeMs, bytes: stats.size };
  progress.keep({ done, refusedPin });
}

/** Whether a state store from an earlier installation is there. */
export function hasState(): boolean {
  return existsSync(places.database) && statSync(places.database).size > 0;
}
