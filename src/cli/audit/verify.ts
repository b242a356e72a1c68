import { createPublicKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { ageInWords, compareState } from '../../audit/compare-state.ts';
import { openBundle } from '../../audit/bundle.ts';
import { keyDigest } from '../../audit/checkpoint.ts';
import { auditFiles, type AuditFile } from '../../audit/file-names.ts';
import type { Place } from '../../audit/record.ts';
import { AccountComparison, type AccountVerdict } from '../../audit/compare-account.ts';
import { RecordOrder } from '../../audit/record-order.ts';
import { verifyAuditLog, type BadPlace, type VerifyResult } from '../../audit/verify.ts';
import { loadConfig } from '../../config/config.ts';
import { accountDirectoryOf } from '../../config/token-config.ts';
import { readStateStore } from '../../state/threaded-store.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { showProgress } from '../progress.ts';
import { fields } from '../table.ts';
import { accountFaults, accountFields } from './account-words.ts';

export const VerifyOptions = z.object({
  bundle: z.string().optional(),
  keySha256: z.array(z.string().regex(/^[0-9a-fA-F]{64}$/, 'SHA-256 in hexadecimal')).optional(),
  directory: z.string().optional(),
  publicKey: z.array(z.string()).optional(),
  known: z.array(z.string()).default([]),
  from: z.string().optional(),
  account: z.union([z.string(), z.boolean()]).default(true),
  also: z.array(z.string()).default([]),
  explained: z
    .array(z.string().regex(/^\d{1,3}:\d{1,15}(?:,\d{1,3}:\d{1,15})*$/, 'chain and line, such as 0:4711, or a list such as 0:4711,0:4712'))
    .default([])
    .transform((lists) => lists.flatMap((list) => list.split(','))),
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
  if (options.also.length > 0 && !isOwnLog(options))
    throw new CommandError(exitCodes.usage, '--also is for the configured log, and needs its account');
  const own = await logToVerify(configPath, options);
  const others = await Promise.all(
    options.also.map(async (path) => ({ config: path, ...(await logToVerify(path, VerifyOptions.parse({}))) })),
  );
  refuseStrangers(configPath, options, [own, ...others]);
  const comparison = comparisonOf(configPath, options);
  const { results, account } = await verifyLogs([own, ...others], comparison);
  const [result, ...further] = results;
  if (result === undefined) throw new Error('no log was verified');
  const also = others.map(({ config, directory }, index) => ({ config, directory, ...further[index] }));
  const { bad, files, records, checkpoints, keys, covered, first, last } = result;
  const { directory } = own;
  const since = last === undefined || covered === undefined ? 0 : last.n - covered.records;
  const isWhole = results.every((one) => one.bad === undefined);
  return {
    json: { directory, ...result, ...(also.length === 0 ? {} : { also }), account },
    text: fields([
      [options.bundle === undefined ? 'directory' : 'bundle', directory],
      ['read', `${records} records in ${files} files, ${checkpoints} checkpoints`],
      ['proved', covered === undefined ? 'nothing' : `up to record ${covered.records}, by the checkpoint of ${covered.time}`],
      ...keys.map((key) => ['key', keyWords(key)] as const),
      ...(first === undefined || first === 1 ? [] : [['first', `record ${first}`] as const]),
      ['last', last === undefined ? 'none' : `record ${last.n}, ${last.hash}`],
      ['verdict', bad === undefined ? 'the log is intact' : 'the log is DAMAGED'],
      ...also.map(
        (one) => ['also', `${one.directory}: ${one.records ?? 0} records, ${one.bad === undefined ? 'intact' : 'DAMAGED'}`] as const,
      ),
      ...(account === undefined ? [] : accountFields(account)),
    ]),
    faults: [
      ...(bad === undefined ? [] : [placeWords(bad)]),
      ...also.flatMap((one) => (one.bad === undefined ? [] : [`${one.config}: ${placeWords(one.bad)}`])),
      ...[own, ...others].flatMap((log) => (log.olderState === undefined ? [] : [log.olderState])),
      // If a log was not read to its end, uses without a record prove nothing.
      ...(account === undefined ? [] : accountFaults(account, isWhole)),
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

function placeWords({ file, line, why }: BadPlace): string {
  return `${file}, line ${line}: ${why}`;
}

interface LogToVerify extends Expected {
  readonly present: readonly AuditFile[];
  /** Name of the file to begin with. */
  readonly from: string | undefined;
  readonly isFromBeginning: boolean;
}

/** @throws {CommandError} if there is no such log */
async function logToVerify(configPath: string, options: VerifyOptions): Promise<LogToVerify> {
  const expected = await (options.bundle === undefined ? expectedOf(configPath, options) : expectedOfBundle(options.bundle, options));
  const { directory, heads } = expected;
  if (!existsSync(directory)) throw new CommandError(exitCodes.refused, `there is no directory ${directory}`);
  const present = expected.files ?? (await auditFiles(directory));
  const beginsLater = present[0] !== undefined && present[0].number > 1;
  return {
    ...expected,
    heads: [...heads, ...options.known.map(knownPlace)],
    present,
    // A bundle may begin with any file.
    from: options.from ?? (options.bundle !== undefined && beginsLater ? present[0]?.name : undefined),
    isFromBeginning: options.from === undefined && !beginsLater,
  };
}

/** Verifies all logs, and compares them with the account, in one pass over all. */
async function verifyLogs(
  logs: readonly LogToVerify[],
  comparison: AccountComparison | undefined,
): Promise<{ readonly results: readonly VerifyResult[]; readonly account: AccountVerdict | undefined }> {
  const sizes = await Promise.all(logs.map(async ({ present, from }) => sizeOf(present, from)));
  const read = logs.map(() => 0);
  const sum = (parts: readonly number[]): number => parts.reduce((total, part) => total + part, 0);
  const progress = showProgress({ work: 'audit verify', unit: 'bytes', total: sum(sizes) });
  const order = new RecordOrder(logs.length, async (record) => comparison?.take(record));
  const verified = logs.map(async ({ files, directory, publicKeys, heads, from, isFromBeginning }, index) =>
    verifyAuditLog(files ?? directory, {
      ...{ publicKeys, heads, from },
      observe: comparison?.readerOf(isFromBeginning, async (record) => order.offer(index, record)),
      progress: (bytes) => {
        read[index] = bytes;
        progress.at(sum(read));
      },
    }).finally(() => {
      order.ended(index);
    }),
  );
  const results = await Promise.all(verified).finally(progress.end);
  return { results, account: await comparison?.end() };
}

/**
 * @throws {CommandError} if `--also` names a log whose daemon does not share the token host, or one
 * log twice
 */
function refuseStrangers(configPath: string, options: VerifyOptions, logs: readonly LogToVerify[]): void {
  if (options.also.length === 0) return;
  if (!isOwnLog(options)) throw new CommandError(exitCodes.usage, '--also is for the configured log, and its account of uses');
  const host = accountDirectoryOf(loadConfig(configPath).token);
  for (const path of options.also)
    if (accountDirectoryOf(loadConfig(path).token) !== host)
      throw new CommandError(exitCodes.usage, `--also ${path}: its daemon uses another token host, whose account is not ${host}`);
  const twice = logs.map(({ directory }) => directory).find((directory, index, all) => all.indexOf(directory) !== index);
  if (twice !== undefined) throw new CommandError(exitCodes.usage, `--also: the log ${twice} is named twice`);
}

/** Whether the log is that of this host's configuration. */
function isOwnLog({ directory, publicKey, bundle, account }: VerifyOptions): boolean {
  return account !== false && directory === undefined && publicKey === undefined && bundle === undefined;
}

function keyWords({ sha256, checkpoints, from, to }: VerifyResult['keys'][number]): string {
  return `${sha256}, named since record ${from}: ${checkpoints === 0 ? 'no checkpoint' : `${checkpoints} checkpoints, the last of record ${to}`}`;
}

/**
 * Undefined if there is nothing to compare: a log elsewhere does not belong to this host.
 * @throws {CommandError} if the account cannot be read
 */
function comparisonOf(configPath: string, options: VerifyOptions): AccountComparison | undefined {
  if (typeof options.account !== 'string' && !isOwnLog(options)) return undefined;
  const config = loadConfig(configPath);
  if (!config.audit.enabled) return undefined;
  const directory = typeof options.account === 'string' ? options.account : accountDirectoryOf(config.token);
  try {
    return new AccountComparison(directory, {
      explained: new Set(options.explained),
      recentFrom: Date.now() - Number(options.recentSeconds) * 1000,
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
