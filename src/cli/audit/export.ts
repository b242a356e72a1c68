import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { stat, type FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { openBundle, planBundle, writeBundle, type BundlePlan } from '../../audit/bundle.ts';
import { keyDigest } from '../../audit/checkpoint.ts';
import { exportRecords, type ExportSummary } from '../../audit/export-records.ts';
import { auditFiles } from '../../audit/file-names.ts';
import type { RecordFilter } from '../../audit/record-filter.ts';
import { verifyAuditLog, type VerifyResult } from '../../audit/verify.ts';
import { loadConfig } from '../../config/config.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { version } from '../../telemetry/version.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { showProgress } from '../progress.ts';
import { fields } from '../table.ts';
import { bundleReadme } from './bundle-readme.ts';
import { filterOf, FilterOptions, type TimeRange } from './filter-options.ts';
import { writeNewFile } from '../../service/new-file.ts';

export const ExportOptions = z.object({
  format: z.enum(['csv', 'jsonl', 'bundle']),
  output: z.string().optional(),
  request: z.string().optional(),
  ...FilterOptions,
  directory: z.string().optional(),
});
export type ExportOptions = z.output<typeof ExportOptions>;

/** `audit export`: records as CSV or JSON lines, or whole files as a bundle that proves itself. */
export async function auditExport(configPath: string, options: ExportOptions): Promise<Outcome> {
  const directory = options.directory ?? loadConfig(configPath).audit.directory;
  const filter = filterOf(options);
  try {
    return await (options.format === 'bundle'
      ? exportBundle(directory, options, filter)
      : exportLines(directory, options.format, options, filter));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(exitCodes.refused, `${directory} cannot be exported: ${reasonOf(error)}`);
  }
}

async function exportLines(directory: string, format: 'csv' | 'jsonl', { output }: ExportOptions, filter: RecordFilter): Promise<Outcome> {
  const files = await auditFiles(directory);
  const sizes = await Promise.all(files.map(async ({ path }) => (await stat(path)).size));
  const progress = showProgress({ work: 'audit export', unit: 'bytes', total: sizes.reduce((sum, size) => sum + size, 0) });
  const exported = async (write: (text: string) => Promise<void>): Promise<ExportSummary> =>
    exportRecords(files, format, filter, { write, progress: progress.at });
  const { records, malformed } = await (
    output === undefined ? exported(print) : newFile(output, async (out) => exported(async (text) => out.writeFile(text)))
  ).finally(progress.end);
  if (output === undefined) return { json: undefined, text: '', faults: malformed };
  return {
    json: { output, records },
    text: fields([
      ['written', output],
      ['records', String(records)],
    ]),
    faults: malformed,
    notes: ['exported records prove nothing by themselves: verify the log, or export a bundle'],
  };
}

/** @throws {CommandError} if the file exists */
async function newFile<T>(path: string, write: (out: FileHandle) => Promise<T>): Promise<T> {
  if (existsSync(path)) throw new CommandError(exitCodes.refused, `${path} already exists; it is not overwritten`);
  return writeNewFile(path, write);
}

async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

async function exportBundle(directory: string, options: ExportOptions, range: TimeRange): Promise<Outcome> {
  const { output, request, client, tenant, key, outcome } = options;
  if ([request, client, tenant, key, outcome].some((option) => option !== undefined))
    throw new CommandError(
      exitCodes.usage,
      'a bundle has whole files: --request, --client, --tenant, --key and --outcome select records only for csv and jsonl',
    );
  if (output === undefined) throw new CommandError(exitCodes.usage, 'a bundle needs --output FILE');
  const plan = await planBundle(directory, range);
  const progress = showProgress({ work: 'audit export', unit: 'bytes', total: 2 * plan.totalBytes });
  const write = async (out: FileHandle): Promise<void> => writeBundle(out, plan, bundleReadme(plan, version()), progress.at);
  const { result, keys } = await (async () => {
    await newFile(output, write);
    return verified(output, plan, progress.at);
  })().finally(progress.end);
  const { bad, first, last, covered, files, records } = result;
  return {
    json: { output, log: plan.log, files, records, first, last, covered, keys, bad: bad ?? null },
    text: fields([
      ['written', output],
      ['log', plan.log],
      ['records', `${first ?? 0} to ${last?.n ?? 0}, ${files} files`],
      ['last', last === undefined ? 'none' : `${last.n}:${last.hash}`],
      ...keys.map((digest) => ['key', digest] as const),
    ]),
    faults: bad === undefined ? [] : [`the log in the bundle is DAMAGED: ${bad.file}, line ${bad.line}: ${bad.why}`],
    notes: [
      'keep the key and the last record apart from the bundle: signetctl audit verify --bundle takes them with --key-sha256 and --known',
    ],
  };
}

/** Verifies the bundle that was written, with its own keys. */
async function verified(
  path: string,
  { totalBytes }: BundlePlan,
  progress: (bytes: number) => void,
): Promise<{ readonly result: VerifyResult; readonly keys: readonly string[] }> {
  const { files, publicKeys } = await openBundle(path);
  const from = files[0]?.number === 1 ? undefined : files[0]?.name;
  const result = await verifyAuditLog(files, { publicKeys, from, progress: (bytes) => progress(totalBytes + bytes) });
  return { result, keys: publicKeys.map(keyDigest) };
}
