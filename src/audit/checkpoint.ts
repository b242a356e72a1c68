import type { KeyObject } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { dataVerifies } from '../verification/verify-value.ts';
import type { Checkpoint, CheckpointEntry } from './record.ts';

/** Signs checkpoints: ECDSA P-256 with SHA-256. */
export interface CheckpointSigner {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  /** Returns r‖s, 64 bytes. */
  sign(bytes: Uint8Array): Promise<Uint8Array>;
}

/** The signed bytes of a checkpoint: five lines of text, so that any tool can build them. */
export function checkpointText({ log, records, hash: head, time }: Checkpoint): string {
  return `signetd audit checkpoint v1\nlog: ${log}\nrecords: ${records}\nhash: ${head}\ntime: ${time}\n`;
}

/** `kept`: as in the entry. */
export async function signCheckpoint(checkpoint: Checkpoint, kept: number, signer: CheckpointSigner): Promise<CheckpointEntry> {
  const value = await signer.sign(Buffer.from(checkpointText(checkpoint)));
  if (value.length !== 64) throw new RangeError('a P-256 signature value must have 64 bytes');
  const signature = der.sequence(der.integer(value.subarray(0, 32)), der.integer(value.subarray(32)));
  return { kind: 'checkpoint', checkpoint, kept, signature: Buffer.from(signature).toString('base64') };
}

export function checkpointVerifies(
  { checkpoint, signature }: Pick<CheckpointEntry, 'checkpoint' | 'signature'>,
  publicKey: KeyObject,
): boolean {
  return dataVerifies(
    publicKey,
    { scheme: 'ECDSA', hash: 'sha256' },
    Buffer.from(checkpointText(checkpoint)),
    Buffer.from(signature, 'base64'),
  );
}
