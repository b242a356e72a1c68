import { createPublicKey, type KeyObject } from 'node:crypto';
import { dataVerifies } from '../verification/verify-value.ts';
import { keyDigest, ecdsaValue, type CheckpointSigner } from './checkpoint.ts';
import type { Succession } from './checkpoint-entry.ts';

/** The signed bytes of a succession: four lines of text, so that any tool can build them. */
export function successionText(former: Uint8Array, next: Uint8Array, time: string): string {
  return `signetd audit key v1\nformer: ${keyDigest(former)}\nnew: ${keyDigest(next)}\ntime: ${time}\n`;
}

/**
 * Has the former key say which key signs checkpoints after it. `next`: SubjectPublicKeyInfo, DER.
 */
export async function signSuccession(former: CheckpointSigner, next: Uint8Array): Promise<Succession> {
  const time = new Date().toISOString();
  const value = await former.sign(Buffer.from(successionText(former.publicKey, next, time)));
  return {
    former: Buffer.from(former.publicKey).toString('base64'),
    time,
    signature: ecdsaValue(value).toString('base64'),
  };
}

/**
 * Whether the former key has signed that `next` (SubjectPublicKeyInfo, DER) follows it.
 * `formerKey`: as in the succession.
 */
export function successionVerifies({ former, time, signature }: Succession, next: Uint8Array, formerKey: KeyObject): boolean {
  const text = successionText(Buffer.from(former, 'base64'), next, time);
  return dataVerifies(formerKey, { scheme: 'ECDSA', hash: 'sha256' }, Buffer.from(text), Buffer.from(signature, 'base64'));
}

/**
 * Returns the key of checkpoints in a SubjectPublicKeyInfo (DER) that anybody may have made;
 * undefined if it is none.
 */
export function checkpointKeyIn(publicKey: Uint8Array): KeyObject | undefined {
  try {
    const key = keyObjectOf(publicKey);
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** @param publicKey SubjectPublicKeyInfo, DER */
export function keyObjectOf(publicKey: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
}
