import { hash } from 'node:crypto';
import { foundOnce } from '../asn1/read-once.ts';
import { moduleFile } from '../config/module-file.ts';
import type { ThreadFunction, WorkThreads } from '../threads/work-threads.ts';
import { verificationMicroseconds } from '../verification/effort.ts';
import { keyFault } from '../verification/key-bounds.ts';
import { readPublicKey } from '../verification/public-key.ts';
import { certificateVerifies, responseVerifies } from './signed-object.ts';

/**
 * A certificate or a BasicOCSPResponse, and the key that may have signed it. Both in DER, which must
 * not change.
 */
export interface SignedPair {
  readonly signed: Uint8Array;
  /** Absent: a certificate. */
  readonly isResponse?: true;
  readonly subjectPublicKeyInfo: Uint8Array;
}

/** Verifying these certificates takes longer than a request may. The message is for callers. */
export class TooManySignatures extends Error {
  constructor() {
    super('too many signatures in its certificates');
  }
}

/** Longer work goes to a thread, where it costs the event loop nothing. */
const onLoopMaxMicroseconds = 2000;
/**
 * Limit on the work for one search among certificates: a chain of the slowest keys takes 20 ms. It
 * is spent once, since results are kept.
 */
export const effortMaxMicroseconds = 100_000;
const keptMax = 10_000;

/** Results by content, the least recently used first. */
const results = new Map<string, boolean>();
const digestOf = foundOnce((bytes: Uint8Array) => hash('sha256', bytes, 'base64'));
const keyOf = foundOnce((subjectPublicKeyInfo: Uint8Array) => {
  // A key that OpenSSL rejects has signed nothing.
  if (keyFault(subjectPublicKeyInfo) !== undefined) return undefined;
  try {
    return readPublicKey(subjectPublicKeyInfo);
  } catch {
    return undefined;
  }
});
const thread: ThreadFunction = { module: moduleFile('./known-signatures', import.meta.url), name: 'verifyPairs', lane: 'quick' };

/**
 * Whether the key signed the certificate or response. Verified once: certificates recur, and what a
 * thread verified is known here.
 */
export function pairVerifies(pair: SignedPair): boolean {
  const name = nameOf(pair);
  const known = results.get(name);
  if (known !== undefined) results.delete(name);
  const key = known === undefined ? keyOf(pair.subjectPublicKeyInfo) : undefined;
  const holds = known ?? (key !== undefined && (pair.isResponse === true ? responseVerifies : certificateVerifies)(pair.signed, key));
  keep(name, holds);
  return holds;
}

/** Returns the microseconds that verifying a pair takes; 0 if the result is known. */
export function pairMicroseconds(pair: SignedPair): number {
  const key = results.has(nameOf(pair)) ? undefined : keyOf(pair.subjectPublicKeyInfo);
  return key === undefined ? 0 : verificationMicroseconds(key);
}

/**
 * Verifies pairs in a thread, if that takes longer than the event loop may be held; `pairVerifies`
 * then knows the results.
 * @throws {TooManySignatures} if it takes longer than a request may
 */
export async function verifyAhead(pairs: readonly SignedPair[], threads: Pick<WorkThreads, 'run'>): Promise<void> {
  const unknown = pairsOnce(pairs).filter((pair) => pairMicroseconds(pair) > 0);
  const microseconds = unknown.reduce((total, pair) => total + pairMicroseconds(pair), 0);
  if (microseconds <= onLoopMaxMicroseconds) return;
  if (microseconds > effortMaxMicroseconds) throw new TooManySignatures();
  const held = await threads.run<readonly boolean[]>(thread, { pairs: withOwnBytes(unknown) });
  for (const [index, pair] of unknown.entries()) keep(nameOf(pair), held[index] === true);
}

/** Returns each pair once. */
export function pairsOnce(pairs: readonly SignedPair[]): readonly SignedPair[] {
  return [...new Map(pairs.map((pair) => [nameOf(pair), pair])).values()];
}

/** Verifies pairs. Runs in a work thread. */
export function verifyPairs({ pairs }: { readonly pairs: readonly SignedPair[] }): boolean[] {
  return pairs.map(pairVerifies);
}

/**
 * Copies the octets, each certificate and key once: a view would take the whole buffer behind it to
 * the thread.
 */
function withOwnBytes(pairs: readonly SignedPair[]): SignedPair[] {
  const copies = new Map<Uint8Array, Uint8Array>();
  const copyOf = (bytes: Uint8Array): Uint8Array => {
    const copy = copies.get(bytes) ?? Uint8Array.from(bytes);
    copies.set(bytes, copy);
    return copy;
  };
  return pairs.map(({ signed, subjectPublicKeyInfo, ...form }) => ({
    ...form,
    signed: copyOf(signed),
    subjectPublicKeyInfo: copyOf(subjectPublicKeyInfo),
  }));
}

function nameOf({ signed, isResponse, subjectPublicKeyInfo }: SignedPair): string {
  return `${isResponse === true ? 'response' : ''} ${digestOf(signed)} ${digestOf(subjectPublicKeyInfo)}`;
}

function keep(name: string, holds: boolean): void {
  results.set(name, holds);
  const [oldest] = results.keys();
  if (results.size > keptMax && oldest !== undefined) results.delete(oldest);
}
