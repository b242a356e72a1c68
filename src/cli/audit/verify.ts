import { createPublicKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { ageInWords, compareState } from '../../audit/compare-state.ts';
import type { Place } from '../../audit/record.ts';
import { verifyAuditLog } from '../../audit/verify.ts';
import { loadConfig } from '../../config/config.ts';
import { readStateStore } from '../../state/state-store.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';

export const VerifyOptions = z.object({
  directory: z.string().optional(),
  publicKey: z.array(z.string()).optional(),
  known: z.array(z.string()).default([]),
  from: z.string().optional(),
});
export type VerifyOptions = z.output<typeof VerifyOptions>;

interface Expected {
  readonly directory: string;
  readonly publicKeys: readonly Uint8Array[];
  readonly heads: readonly Place[];
  /** Why the state store is no judge of the log's end: it is older than the log. */
  readonly olderState?: string | undefined;
}

/** `audit verify`: reads the whole log. It may be written meanwhile. */
export async function auditVerify(configPath: string, options: VerifyOptions): Promise<Outcome> {
  const { directory, publicKeys, heads, olderState } = await expectedOf(configPath, options);
  if (!existsSync(directory)) throw new CommandError(exitCodes.refused, `there is no directory ${directory}`);
  const result = await verifyAuditLog(directory, { publicKeys, heads: [...heads, ...options.known.map(knownPlace)], from: options.from });
  const { bad, files, records, checkpoints, covered, last } = result;
  const since = last === undefined || covered === undefined ? 0 : last.n - covered.records;
  return {
    json: { directory, ...result },
    text: fields([
      ['directory', directory],
      ['read', `${records} records in ${files} files, ${checkpoints} checkpoints`],
      ['proved', covered === undefined ? 'nothing' : `up to record ${covered.records}, by the checkpoint of ${covered.time}`],
      ['last', last === undefined ? 'none' : `record ${last.n}, ${last.hash}`],
      ['verdict', bad === undefined ? 'the log is as it was written' : 'NOT as it was written'],
    ]),
    faults: [
      ...(bad === undefined ? [] : [`${bad.file}, line ${bad.line}: ${bad.why}`]),
      ...(olderState === undefined ? [] : [olderState]),
    ],
    // The last checkpoint covers what is before it, not itself.
    notes: since > 1 && bad === undefined ? [`the last ${since} records have no checkpoint after them yet`] : [],
  };
}

async function expectedOf(configPath: string, { directory, publicKey }: VerifyOptions): Promise<Expected> {
  if (publicKey !== undefined) {
    const publicKeys = publicKey.map(readPublicKey);
    return { directory: directory ?? loadConfig(configPath).audit.directory, publicKeys, heads: [] };
  }
  const { audit, state } = loadConfig(configPath);
  if (state.kind === 'sqlite' && !existsSync(state.path)) {
    throw new CommandError(exitCodes.refused, `there is no state store ${state.path}; name the key of the checkpoints by --public-key`);
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
    throw new CommandError(exitCodes.usage, `${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function knownPlace(text: string): Place {
  const [, n, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (n === undefined || hash === undefined) {
    throw new CommandError(
      exitCodes.usage,
      '--known takes a record number and its hash, such as 1200:5f3c…, as a checkpoint in the log has them',
    );
  }
  return { n: Number(n), hash };
}
