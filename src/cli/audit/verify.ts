import { createPublicKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { ageInWords, compareState } from '../../audit/compare-state.ts';
import { keyDigest, openBundle } from '../../audit/bundle.ts';
import { auditFiles, type AuditFile } from '../../audit/file-names.ts';
import type { Place } from '../../audit/record.ts';
import { AccountComparison, type AccountVerdict, type UnrecordedUse } from '../../audit/compare-account.ts';
import { verifyAuditLog } from '../../audit/verify.ts';
import { loadConfig } from '../../config/config.ts';
import { accountDirectoryOf } from '../../config/token-config.ts';
import { readStateStore } from '../../state/threaded-store.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { showProgress } from '../progress.ts';
import { fields } from '../table.ts';

export const VerifyOptions = z.object({
  bundle: z.string().optional(),
  keySha256: z.array(z.string().regex(/^[0-9a-fA-F]{64}$/, 'SHA-256 in hexadecimal')).optional(),
  directory: z.string().optional(),
  publicKey: z.array(z.string()).optional(),
  known: z.array(z.string()).default([]),
  from: z.string().optional(),
  account: z.union([z.string(), z.boolean()]).default(true),
  explained: z.array(z.string().regex(/^\d{1,3}:\d{1,15}$/, 'chain and line, such as 0:4711')).default([]),
  recentSeconds: z
    .string()
    .regex(/^\d{1,6}$/, 'seconds')
    .default('30'),
});
export type VerifyOptions = z.output<typeof VerifyOptions>;

interface Expected {
  /** Directory of the log, or the bundle. */
  readonly directory: string;
  /** Files of a bundle. */
  readonly files?: readonly AuditFile[];
  readonly publicKeys: readonly Uint8Array[];
  readonly heads: readonly Place[];
  /** Set if the state store is older than the log, so that it cannot confirm the log's end. */
  readonly olderState?: string | undefined;
}

/** `audit verify`: verifies the whole log, which may be written meanwhile. */
export async function auditVerify(configPath: string, options: VerifyOptions): Promise<Outcome> {
  const expected = await (options.bundle === undefined ? expectedOf(configPath, options) : expectedOfBundle(options.bundle, options));
  const { directory, publicKeys, heads, olderState } = expected;
  if (!existsSync(directory)) throw new CommandError(exitCodes.refused, `there is no directory ${directory}`);
  const present = expected.files ?? (await auditFiles(directory));
  const beginsLater = present[0] !== undefined && present[0].number > 1;
  const comparison = comparisonOf(configPath, options, options.from === undefined && !beginsLater);
  // A bundle may begin with any file.
  const from = options.from ?? (options.bundle !== undefined && beginsLater ? present[0]?.name : undefined);
  const progress = showProgress({ work: 'audit verify', unit: 'bytes', total: await sizeOf(present, from) });
  const result = await verifyAuditLog(expected.files ?? directory, {
    publicKeys,
    heads: [...heads, ...options.known.map(knownPlace)],
    from,
    observe: async (record) => comparison?.take(record),
    progress: progress.at,
  }).finally(progress.end);
  const account = await comparison?.end();
  const { bad, files, records, checkpoints, covered, first, last } = result;
  const since = last === undefined || covered === undefined ? 0 : last.n - covered.records;
  return {
    json: { directory, ...result, account },
    text: fields([
      [options.bundle === undefined ? 'directory' : 'bundle', directory],
      ['read', `${records} records in ${files} files, ${checkpoints} checkpoints`],
      ['proved', covered === undefined ? 'nothing' : `up to record ${covered.records}, by the checkpoint of ${covered.time}`],
      ...(first === undefined || first === 1 ? [] : [['first', `record ${first}`] as const]),
      ['last', last === undefined ? 'none' : `record ${last.n}, ${last.hash}`],
      ['verdict', bad === undefined ? 'the log is intact' : 'the log is DAMAGED'],
      ...(account === undefined ? [] : accountFields(account)),
    ]),
    faults: [
      ...(bad === undefined ? [] : [`${bad.file}, line ${bad.line}: ${bad.why}`]),
      ...(olderState === undefined ? [] : [olderState]),
      // If the log was not read to its end, uses without a record prove nothing.
      ...(account === undefined ? [] : accountFaults(account, bad === undefined)),
    ],
    notes: [
      // The last checkpoint covers the records before it, not itself.
      ...(since > 1 && bad === undefined ? [`the last ${since} records are not covered by a checkpoint yet`] : []),
      ...(account === undefined || account.onTheirWay === 0
        ? []
        : [`${account.onTheirWay} uses are so recent that their records may still be written`]),
    ],
  };
}

/**
 * Undefined if there is nothing to compare: a log elsewhere does not belong to this host.
 * @throws {CommandError} if the account cannot be read
 */
function comparisonOf(configPath: string, options: VerifyOptions, isFromBeginning: boolean): AccountComparison | undefined {
  const isElsewhere = options.directory !== undefined || options.publicKey !== undefined || options.bundle !== undefined;
  if (options.account === false || (options.account === true && isElsewhere)) return undefined;
  const config = loadConfig(configPath);
  if (!config.audit.enabled) return undefined;
  const directory = typeof options.account === 'string' ? options.account : accountDirectoryOf(config.token);
  try {
    return new AccountComparison(directory, {
      explained: new Set(options.explained),
      recentFrom: Date.now() - Number(options.recentSeconds) * 1000,
      isFromBeginning,
    });
  } catch (error) {
    const reason = reasonOf(error);
    throw new CommandError(
      exitCodes.refused,
      `the token host's account of uses cannot be read: ${reason}; run this as root, name another with --account, or skip it with --no-account`,
    );
  }
}

/** Returns the size of the files to read, in bytes. */
async function sizeOf(files: readonly AuditFile[], from: string | undefined): Promise<number> {
  const wanted = files.slice(
    Math.max(
      0,
      files.findIndex(({ name }) => name === from),
    ),
  );
  const sizes = await Promise.all(wanted.map(async ({ path, within }) => within?.bytes ?? (await stat(path)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** @throws {CommandError} if the bundle cannot be read, or no key is trusted */
async function expectedOfBundle(path: string, { directory, publicKey = [], keySha256 = [] }: VerifyOptions): Promise<Expected> {
  if (directory !== undefined) throw new CommandError(exitCodes.usage, 'give either --bundle or --directory');
  const { files, publicKeys } = await openBundle(path).catch((error: unknown) => {
    throw new CommandError(exitCodes.refused, `${path} is not a bundle of an audit log: ${reasonOf(error)}`);
  });
  const trusted = new Set(keySha256.map((digest) => digest.toLowerCase()));
  const keys = [...publicKey.map(readPublicKey), ...publicKeys.filter((key) => trusted.has(keyDigest(key)))];
  if (publicKey.length === 0 && trusted.size === 0) {
    const own = publicKeys.map(keyDigest).join(', ');
    throw new CommandError(
      exitCodes.usage,
      `a bundle cannot vouch for its own keys: name the key with --public-key or --key-sha256, as noted on the machine of the log (the bundle has ${own})`,
    );
  }
  return { directory: path, files, publicKeys: keys, heads: [] };
}

async function expectedOf(configPath: string, { directory, publicKey, keySha256 }: VerifyOptions): Promise<Expected> {
  if (keySha256 !== undefined) throw new CommandError(exitCodes.usage, '--key-sha256 selects keys of a bundle: it needs --bundle');
  if (publicKey !== undefined) {
    const publicKeys = publicKey.map(readPublicKey);
    return { directory: directory ?? loadConfig(configPath).audit.directory, publicKeys, heads: [] };
  }
  const { audit, state } = loadConfig(configPath);
  if (state.kind === 'sqlite' && !existsSync(state.path)) {
    throw new CommandError(exitCodes.refused, `there is no state store ${state.path}; name the checkpoint key with --public-key`);
  }
  const store = await readStateStore(state);
  try {
    const publicKeys = (await store.run('auditKeys')).map((row) => row.public_key);
    const head = await store.run('auditHead', audit.name);
    const heads = head === undefined ? [] : [{ n: head.records, hash: head.hash }];
    const comparison = directory === undefined && audit.enabled ? await compareState(store, audit) : undefined;
    const olderState = comparison?.isOlder === true ? ageInWords(comparison) : undefined;
    return { directory: directory ?? audit.directory, publicKeys, heads, olderState };
  } finally {
    await store.close();
  }
}

function readPublicKey(file: string): Uint8Array {
  try {
    return createPublicKey(readFileSync(file)).export({ type: 'spki', format: 'der' });
  } catch (error) {
    throw new CommandError(exitCodes.usage, `${file}: ${reasonOf(error)}`);
  }
}

function knownPlace(text: string): Place {
  const [, n, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (n === undefined || hash === undefined) {
    throw new CommandError(exitCodes.usage, '--known takes a record number and its hash from a checkpoint, such as 1200:5f3c…');
  }
  return { n: Number(n), hash };
}

/** Describes the result of the comparison with the token host's account. */
export function accountFields(account: AccountVerdict): [string, string][] {
  const { lines, recorded, unrecordedCount, explainedCount, services, wrongSecrets, bad } = account;
  const others = Object.values(services).reduce((sum, count) => sum + count, 0);
  const explained = explainedCount === 0 ? '' : `, ${explainedCount} explained`;
  return [
    ['account', bad.length > 0 ? 'DAMAGED' : `${lines} lines, intact`],
    ['uses', `${recorded} with a record, ${unrecordedCount} ${unrecordedCount === 0 ? 'without' : 'WITHOUT'}${explained}`],
    [
      'other uses',
      `${others} by ${Object.keys(services).length} service keys, which have no single records (OCSP, time-stamps, checkpoints)`,
    ],
    ['wrong secrets', `${wrongSecrets} compared by the token host`],
  ];
}

/**
 * @param isWhole whether the log was read to its end; if not, uses without a record prove nothing
 */
export function accountFaults({ bad, unrecorded, unrecordedCount }: AccountVerdict, isWhole: boolean): string[] {
  const changed = bad.map(({ file, line, why }) => (file.endsWith('-') ? `${file.slice(0, -1)}: ${why}` : `${file}, line ${line}: ${why}`));
  if (!isWhole) return changed;
  const more = unrecordedCount - unrecorded.length;
  return [...changed, ...unrecorded.map(useWords), ...(more === 0 ? [] : [`and ${more} more uses without a record`])];
}

function useWords({ use, time, file, line, place, startedAgain }: UnrecordedUse): string {
  const [kind, key, how, what] = use.split(' ');
  const did =
    kind === 'mac' ? `a MAC was made for a new secret of the key ${key} (${how}) at ${time}` : `the key ${key} signed ${what} at ${time}`;
  const after = startedAgain === undefined ? '' : ` (signetd started again at ${startedAgain}: a crash may have prevented its record)`;
  return `${file}, line ${line}: ${did}; the audit log has no record of it${after}; ${place}`;
}
