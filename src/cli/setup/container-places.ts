import { publishedAt } from './draft.ts';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Authority } from './progress.ts';
import { listOf, type Answers } from './question.ts';
import type { z } from 'zod';

/** Directories that a container mounts. All files of `configuration` are directly in it. */
export interface ContainerPlaces {
  readonly configuration: string;
  readonly secrets: string;
  readonly state: string;
  readonly log: string;
}

/** Their paths in the container. */
export const insidePlaces: ContainerPlaces = {
  configuration: '/etc/signetd',
  secrets: '/run/secrets',
  state: '/var/lib/signetd',
  log: '/var/log/signetd',
};

/** What setup has made so far, for the configuration. */
export interface Made {
  readonly certificateAuthorities?: Readonly<Record<string, z.output<typeof Authority>>>;
  readonly clientKeyId?: string;
}

/**
 * A directory of setup: what becomes the volumes of a container, and the files of the first client.
 */
export class ContainerDirectory {
  readonly places: ContainerPlaces;
  readonly client: string;
  readonly soPin: string;
  /** For the configuration of the setup itself; it is removed at the end. */
  readonly #work: string;
  readonly #root: string;

  /** @throws {CommandError} if there is something that setup would overwrite */
  constructor(directory: string) {
    this.#root = resolve(directory);
    const at = (name: string): string => join(this.#root, name);
    this.places = { configuration: at('etc'), secrets: at('secrets'), state: at('state'), log: at('log') };
    this.client = at('client');
    this.soPin = at('so-pin');
    const taken = this.#directories().filter((path) => hasContent(path));
    if (taken.length > 0) throw new CommandError(exitCodes.refused, `${taken.join(', ')}: not empty, and setup overwrites nothing`);
    for (const path of this.#directories()) mkdirSync(path, { recursive: true, mode: 0o700 });
    this.#work = mkdtempSync(join(tmpdir(), 'signetd-setup-'));
  }

  /** Writes a new file. @throws file system errors */
  write(path: string, content: string | Uint8Array, mode = 0o644): string {
    writeFileSync(path, content, { flag: 'wx', mode });
    return path;
  }

  /** Writes the configuration for the commands of setup itself, and returns its path. */
  writeDraft(answers: Answers, made: Made): string {
    const draft = join(this.#work, 'signetd.yaml');
    const settings = join(this.#work, 'softhsm2.conf');
    if (answers.token === 'softhsm') writeFileSync(settings, softwareTokenSettings(this.places));
    writeFileSync(draft, stringify(configurationOf(answers, made, { ...this.places, settings, sockets: this.#work })));
    return draft;
  }

  writeConfiguration(answers: Answers, made: Made): void {
    const settings = join(insidePlaces.configuration, 'softhsm2.conf');
    const head = '# Configuration of signetd in a container, written by signetctl setup --container.\n\n';
    const configuration = configurationOf(answers, made, { ...insidePlaces, settings, sockets: '/run/signetd' });
    if (answers.token === 'softhsm') this.write(join(this.places.configuration, 'softhsm2.conf'), softwareTokenSettings(insidePlaces));
    this.write(join(this.places.configuration, 'signetd.yaml'), `${head}${stringify(configuration)}`);
  }

  end(): void {
    rmSync(this.#work, { recursive: true, force: true });
  }

  /** Removes everything that setup has made; the directories themselves may be mounts. */
  clear(): void {
    for (const path of this.#directories())
      for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true, force: true });
    rmSync(this.soPin, { force: true });
  }

  #directories(): string[] {
    return [...Object.values(this.places).map(String), this.client];
  }
}

function hasContent(path: string): boolean {
  try {
    return readdirSync(path).length > 0;
  } catch {
    return false;
  }
}

function softwareTokenSettings({ state }: ContainerPlaces): string {
  return [
    '# SoftHSM is software, for trials only. Written by signetctl setup --container.',
    `directories.tokendir = ${join(state, 'tokens')}`,
    'objectstore.backend = file',
    'log.level = ERROR',
    'slots.removable = false\n',
  ].join('\n');
}

/** Returns the configuration as far as it can be made, with the paths of one side of the mounts. */
function configurationOf(
  answers: Answers,
  { certificateAuthorities = {}, clientKeyId }: Made,
  places: ContainerPlaces & { readonly settings: string; readonly sockets: string },
): object {
  const { token, profile, module, label, moduleEnvironment, publicUrl, tenant, keyType } = answers;
  const file = (name: string): string => join(places.configuration, name);
  const environment =
    token === 'softhsm'
      ? { SOFTHSM2_CONF: places.settings }
      : Object.fromEntries(listOf(moduleEnvironment).map((item) => [item.slice(0, item.indexOf('=')), item.slice(item.indexOf('=') + 1)]));
  const moved = ({ certificate, chain, ...rest }: z.output<typeof Authority>): object => ({
    ...{ certificate: file(basename(certificate)), chain: chain.map((one) => file(basename(one))) },
    ...rest,
  });
  return {
    listeners: {
      api: { certificate: file('server.pem'), key: join(places.secrets, 'tls-key'), clientCertificateAuthority: file('client-ca.pem') },
      ...(publicUrl === '' ? {} : { public: {} }),
    },
    token: {
      profile: token === 'softhsm' ? 'softhsm2' : profile,
      ...(module === '' ? {} : { modulePath: module }),
      ...{ label, pin: `file:${join(places.secrets, 'pin')}`, host: 'spawn', socketPath: join(places.sockets, 'token.sock') },
      ...{ accountDirectory: join(places.state, 'account') },
      ...(Object.keys(environment).length === 0 ? {} : { environment }),
    },
    admin: { socketPath: join(places.sockets, 'admin.sock') },
    state: { path: join(places.state, 'state.sqlite') },
    audit: { directory: join(places.log, 'audit') },
    ...(clientKeyId === undefined
      ? {}
      : { clientAuthority: { certificate: file('client-ca.pem'), keyId: clientKeyId, ...publishedAt(publicUrl) } }),
    certificateAuthorities: Object.fromEntries(Object.entries(certificateAuthorities).map(([name, one]) => [name, moved(one)])),
    tenants: { [tenant]: { certificateAuthority: 'issuing', profile: { keyType } } },
  };
}
