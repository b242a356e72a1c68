import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { administrationStep } from '../../audit/audited-request.ts';
import type { AcceptedToken } from '../../audit/record.ts';
import { loadConfig, loadFoundations, type Config } from '../../config/config.ts';
import type { LeftBehind } from '../../state/repositories/token-change.ts';
import type { StateStore } from '../../state/state-store.ts';
import { step } from '../../state/step.ts';
import type { KeyId } from '../../token/key-id.ts';
import { withNewKeys, type OperatorToken } from '../ca/token-work.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { checkCurrent, checkStopped } from '../stopped-service.ts';
import { fields } from '../table.ts';
import { askToken } from './token-access.ts';

export const AcceptOptions = z.strictObject({ label: z.string(), serial: z.string() });

/** Keys that are looked up in the state store at once. */
const pageSize = 500;

/**
 * `token accept`: lets the state store and the audit log go on with another token, which has no key
 * of the former one: it makes the MAC key there, and marks the keys of callers as left behind. Killed
 * before its commit, it has only made the MAC key, which a repetition uses.
 */
export async function tokenAccept(configPath: string, options: z.output<typeof AcceptOptions>): Promise<Outcome> {
  const { state, audit } = loadFoundations(configPath);
  await checkStopped(configPath, 'its keys are on the token that it would leave');
  await checkIsMeant(configPath, options);
  await checkCurrent(state, audit);
  const config = loadConfig(configPath);
  return withNewKeys(configPath, 'token accept', [], async (token, _, store) => {
    const onToken = (await token.listKeys()).map(({ id }) => id);
    await checkIsOther(token, store, onToken);
    checkHasAuthorities(config, new Set<string>(onToken));
    const generation = Math.max(...(await store.run('listMacKeys')).map((known) => known.generation)) + 1;
    const left = await store.run('countLeft');
    const check = await token.macKey.make(generation);
    const accepted = { ...options, macKey: generation, keys: left.keys, identities: left.identities };
    await store.commit([step('leaveToken', { generation, check, now: store.now() }), ...recordOf(audit, accepted)]);
    return outcome(accepted, left);
  });
}

function recordOf(audit: Config['audit'], accepted: AcceptedToken): ReturnType<typeof administrationStep>['step'][] {
  if (!audit.enabled) return [];
  const entry = { kind: 'administration' as const, request: randomUUID(), uid: process.getuid?.(), command: 'token accept', accepted };
  return [administrationStep(audit.name, entry).step];
}

function outcome(accepted: AcceptedToken, left: LeftBehind): Outcome {
  const { label, serial, macKey } = accepted;
  return {
    json: { label, serial, macKey, ...left },
    text: `The state store goes on with this token.\n${fields([
      ['token', label],
      ['serial', serial],
      ['MAC key', String(macKey)],
      ["callers' keys left behind", String(left.keys)],
      ['2D-Doc identities left behind', String(left.identities)],
      ['one-time secrets ended', String(left.oneTime)],
      ['keys made ahead, forgotten', String(left.pooled)],
    ])}`,
    notes: [
      'start signetd with this configuration; callers need new keys and certificates (createCertificate)',
      'back up the new token, and keep the former one, with its PIN, as long as its authorities may be needed',
    ],
  };
}

/**
 * Checks that the configuration names the token that the operator has in mind.
 * @throws {CommandError}
 */
async function checkIsMeant(configPath: string, { label, serial }: z.output<typeof AcceptOptions>): Promise<void> {
  const { value: found } = await askToken(configPath, async (reports, config) =>
    (await reports.slots()).flatMap(({ token }) => (token !== null && token.label === config.label ? [token] : [])),
  );
  const [token, ...others] = found;
  if (token === undefined) throw new CommandError(exitCodes.refused, 'no token has the label that the configuration names (token.label)');
  if (others.length > 0)
    throw new CommandError(exitCodes.refused, `${found.length} tokens have the label "${token.label}"; nothing was done`);
  if (token.label === label && token.serial === serial) return;
  throw new CommandError(
    exitCodes.refused,
    `the configuration names the token "${token.label}" with the serial number ${token.serial}, not "${label}" with ${serial}; nothing was done`,
  );
}

/**
 * Checks that the token has no key that the state store names: the service goes on with those as it
 * is, and nothing may be marked as left behind.
 * @throws {CommandError}
 */
async function checkIsOther(token: OperatorToken, store: StateStore, onToken: readonly KeyId[]): Promise<void> {
  const known = (await store.run('listMacKeys')).filter(({ destroyedAt }) => destroyedAt === null);
  if (known.length === 0)
    throw new CommandError(exitCodes.refused, 'this state store was not used with a token yet: signetd starts with any; nothing was done');
  for (const { generation, check } of known) {
    const found = await token.macKey.check(generation);
    if (found === undefined || !Buffer.from(found).equals(check)) continue;
    throw new CommandError(
      exitCodes.refused,
      'this token has the MAC key of this state store, so they belong together: start signetd with this configuration; nothing was done',
    );
  }
  let shared = 0;
  for (let from = 0; from < onToken.length; from += pageSize)
    shared += await store.run('namesOnToken', onToken.slice(from, from + pageSize));
  if (shared === 0) return;
  throw new CommandError(
    exitCodes.refused,
    `this token has ${shared} keys of this state store, but not its MAC key: restore the whole token from its backup, or have its MAC key moved too; nothing was done`,
  );
}

/** Checks that signetd can start with the configuration. @throws {CommandError} */
function checkHasAuthorities({ certificateAuthorities, clientAuthority, timeStampAuthority }: Config, onToken: ReadonlySet<string>): void {
  const needed: [member: string, keyId: string][] = [
    ...Object.entries(certificateAuthorities)
      .filter(([, { retired }]) => !retired)
      .map(([name, { keyId }]): [string, string] => [`certificateAuthorities.${name}`, keyId]),
    ...(clientAuthority === undefined ? [] : [['clientAuthority', clientAuthority.keyId] as [string, string]]),
    ...(timeStampAuthority === undefined ? [] : [['timeStampAuthority', timeStampAuthority.keyId] as [string, string]]),
  ];
  const missing = needed.filter(([, keyId]) => !onToken.has(keyId.toLowerCase()));
  if (missing.length === 0) return;
  throw new CommandError(
    exitCodes.refused,
    [
      'the configuration names keys that this token does not have: make their successors first, or retire the authorities (docs/moving.md); nothing was done',
      ...missing.map(([member, keyId]) => `${member}.keyId: ${keyId}`),
    ].join('\n'),
  );
}
