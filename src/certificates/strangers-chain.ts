import { createHash, X509Certificate } from 'node:crypto';
import { DerError } from '../asn1/reader.ts';
import { moduleFile } from '../config/module-file.ts';
import type { ThreadFunction, WorkThreads } from '../threads/work-threads.ts';
import { keyFault } from '../verification/key-bounds.ts';
import { readCertificate, type Certificate } from '../x509/certificate.ts';
import { effortMaxMicroseconds, pairMicroseconds, pairVerifies, pairsOnce, TooManySignatures } from '../x509/known-signatures.ts';
import { isIssuedBy, possiblePairs } from '../x509/issued-by.ts';
import { chainsOf } from './chains.ts';
import { signerCertificate } from './signer-certificate.ts';

/** A signer's certificate that a stranger presents, and where its issuers may be. All in DER. */
export interface Presented {
  readonly own: Uint8Array;
  /** Certificates that the stranger presents, too. */
  readonly chain: readonly Uint8Array[];
  /** Certificates of this service. */
  readonly known: readonly Uint8Array[];
  /** SHA-1 of the certificate that the chain is to contain, in hexadecimal. */
  readonly trustedCa: string | undefined;
}

/**
 * The issuers, or why there are none. `notCertificate`: the first of the presented certificates,
 * the signer's own being number 0, that is none. `keyFault`: of that number, too.
 */
export type ChainFound =
  | { readonly issuers: readonly Uint8Array[] }
  | { readonly notCertificate: number }
  | { readonly unsupportedSigner: true }
  | { readonly keyFault: string; readonly of: number }
  | { readonly tooMuch: string };

/**
 * Certificates that the event loop parses, compares and verifies in a millisecond or two: those of
 * an ordinary chain. More go to a thread. In octets, 4 certificates of RSA-4096.
 */
const onLoopMax = { certificates: 5, bytes: 10_240, microseconds: 2000 } as const;
const thread: ThreadFunction = {
  module: moduleFile('./strangers-chain', import.meta.url),
  name: 'findChain',
  lane: 'quick',
  whenClientIsGone: 'stops',
};

/**
 * Finds the issuers of a certificate among those that are presented and known: those of the first
 * chain that contains the certificate named by `trustedCa`, else of the first that ends in a
 * self-signed certificate, else of the longest. Works in a thread unless the event loop can do it
 * at once.
 */
export async function strangersChain(presented: Presented, threads: Pick<WorkThreads, 'run'>): Promise<ChainFound> {
  const all = [presented.own, ...presented.chain, ...presented.known];
  const bytes = all.reduce((total, { length }) => total + length, 0);
  if (all.length <= onLoopMax.certificates && bytes <= onLoopMax.bytes) {
    const found = chainWithin(presented, onLoopMax.microseconds);
    if (found !== undefined) return found;
  }
  const { own, chain, known, trustedCa } = presented;
  // Copies: a view would take the whole buffer behind it to the thread.
  const task: Presented = { own: copyOf(own), chain: chain.map(copyOf), known: known.map(copyOf), trustedCa };
  return threads.run<ChainFound>(thread, task);
}

function copyOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes);
}

/** Finds the chain. Runs in a work thread. */
export function findChain(presented: Presented): ChainFound {
  return chainWithin(presented, effortMaxMicroseconds) ?? { tooMuch: new TooManySignatures().message };
}

/** Returns undefined if verifying the signatures takes longer. */
function chainWithin({ own, chain, known, trustedCa }: Presented, maxMicroseconds: number): ChainFound | undefined {
  for (const [index, der] of [own, ...chain].entries()) if (!isCertificate(der)) return { notCertificate: index };
  if (signerCertificate(own) === undefined) return { unsupportedSigner: true };
  for (const [index, der] of chain.entries()) {
    const fault = keyFault(readCertificate(der).subjectPublicKeyInfo);
    if (fault !== undefined) return { keyFault: fault, of: index + 1 };
  }
  const signer = new X509Certificate(own);
  const above = withoutRepetitions(own, [...chain, ...known]).map((one) => new X509Certificate(one));
  const pairs = pairsOnce(possiblePairs([signer, ...above]));
  const microseconds = pairs.reduce((total, pair) => total + pairMicroseconds(pair), 0);
  if (microseconds > maxMicroseconds) return undefined;
  for (const pair of pairs) pairVerifies(pair);
  return { issuers: bestChain(signer, above, trustedCa) };
}

/** Whether it is a certificate, for OpenSSL too unless its key is refused anyway. */
function isCertificate(bytes: Uint8Array): boolean {
  const read = reading(() => readCertificate(bytes));
  if (read === undefined || keyFault(read.subjectPublicKeyInfo) !== undefined) return read !== undefined;
  return openSslEncodes(bytes);
}

function reading(read: () => Certificate): Certificate | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

function openSslEncodes(bytes: Uint8Array): boolean {
  try {
    return equal(new X509Certificate(bytes).raw, bytes);
  } catch {
    return false;
  }
}

function withoutRepetitions(own: Uint8Array, others: readonly Uint8Array[]): readonly Uint8Array[] {
  return others.filter((one, index) => !equal(one, own) && others.findIndex((other) => equal(other, one)) === index);
}

function bestChain(own: X509Certificate, above: readonly X509Certificate[], trustedCa: string | undefined): readonly Uint8Array[] {
  // Skip chains that begin with another certificate of the same name and key.
  const chains = chainsOf(own, above).filter(([first]) => first !== undefined && equal(first, own.raw));
  const wanted = trustedCa?.toLowerCase();
  const trusted = chains.find(([, ...issuers]) => issuers.some((one) => sha1(one) === wanted));
  const rooted = chains.find((chain) => isSelfSigned(chain.at(-1)));
  const [longest] = chains.toSorted((a, b) => b.length - a.length);
  return (trusted ?? rooted ?? longest ?? [own.raw]).slice(1);
}

function isSelfSigned(der: Uint8Array | undefined): boolean {
  if (der === undefined) return false;
  const certificate = new X509Certificate(der);
  return isIssuedBy(certificate, certificate);
}

function sha1(der: Uint8Array): string {
  return createHash('sha1').update(der).digest('hex');
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
