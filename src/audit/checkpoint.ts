import { hash, type KeyObject } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { dataVerifies } from '../verification/verify-value.ts';
import type { Checkpoint, CheckpointEntry, Succession } from './checkpoint-entry.ts';

/**
 * Returns the SHA-256 of a SubjectPublicKeyInfo (DER), hexadecimal, by which keys of checkpoints
 * are named.
 */
export function keyDigest(publicKey: Uint8Array): string {
  return hash('sha256', publicKey, 'hex');
}

/** Signs checkpoints: ECDSA P-256 with SHA-256. */
export interface CheckpointSigner {
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
  /** What the former key says of this one; undefined if there is none, or the token had lost it. */
  readonly succession?: Succession | undefined;
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
  return { kind: 'checkpoint', checkpoint, kept, signature: ecdsaValue(value).toString('base64') };
}

/**
 * Returns the ECDSA-Sig-Value (RFC 3279 §2.2.3) of r‖s.
 * @throws {RangeError} if it is not of P-256
 */
export function ecdsaValue(value: Uint8Array): Buffer {
  if (value.length !== 64) throw new RangeError('a P-256 signature value must have 64 bytes');
  return Buffer.from(der.sequence(der.integer(value.subarray(0, 32)), der.integer(value.subarray(32))));
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
