import { hash } from 'node:crypto';
import { DerError } from '../asn1/reader.ts';
import { moduleFile } from '../config/module-file.ts';
import { counted, sharedMemory } from '../service/shared-memory.ts';
import type { ThreadFunction, WorkThreads } from '../threads/work-threads.ts';
import { pathCertificate, type PathCertificate } from '../x509/path/path-certificate.ts';
import { derOfCrl, readCrl, type Crl } from './crl.ts';
import type { FoundEntry } from './revoked-entries.ts';

/** Certificates to whose question a CRL is the answer. */
export interface CrlUse {
  readonly certificate: Pick<PathCertificate, 'serialNumber'>;
  /** Those that may have signed it. */
  readonly issuers: readonly PathCertificate[];
}

interface Task {
  /** As a server sent it, DER or PEM, in shared memory. */
  readonly bytes: Uint8Array;
  /** Certificates in DER. */
  readonly issuers: readonly Uint8Array[];
  readonly serialNumber: Uint8Array;
}

interface Examined {
  readonly der: SharedArrayBuffer;
  /** SHA-256 of it, in Base64. */
  readonly digest: string;
  /** Whether each issuer signed it. */
  readonly signed: readonly boolean[];
  readonly found: FoundEntry;
}

/** Hashing and searching this takes the event loop about a millisecond. */
export const onLoopMaxBytes = 512 * 1024;

const thread: ThreadFunction = { module: moduleFile('./large-crl', import.meta.url), name: 'examineCrl', lane: 'quick' };

/**
 * Reads a CRL as a server sent it. What the question needs to know of a large one is determined in
 * a thread.
 * @throws {DerError} for anything else
 */
export async function readSentCrl(body: Uint8Array, use: CrlUse, threads: Pick<WorkThreads, 'run'>): Promise<Crl> {
  return body.length <= onLoopMaxBytes ? readCrl(derOfCrl(body)) : examined(body, use, threads);
}

/** Has a thread determine what the question needs to know of a large CRL. */
export async function lookUpAhead(crl: Crl, use: CrlUse, threads: Pick<WorkThreads, 'run'>): Promise<void> {
  if (crl.der.length > onLoopMaxBytes && !crl.knows(use)) await examined(crl.der, use, threads);
}

/** @throws {DerError} */
async function examined(bytes: Uint8Array, { certificate, issuers }: CrlUse, threads: Pick<WorkThreads, 'run'>): Promise<Crl> {
  const task: Task = {
    bytes: inSharedMemory(bytes),
    issuers: issuers.map(({ der }) => Uint8Array.from(der)),
    serialNumber: Uint8Array.from(certificate.serialNumber),
  };
  const outcome = await threads.run<Examined | { readonly unreadable: string }>(thread, task);
  if ('unreadable' in outcome) throw new DerError(outcome.unreadable, 0);
  const { der, digest, signed, found } = outcome;
  const crl = readCrl(new Uint8Array(counted(der)), digest);
  for (const [index, issuer] of issuers.entries()) crl.learnSigner(issuer, signed[index] === true);
  crl.learnEntry(certificate.serialNumber, found);
  return crl;
}

/** Reads a CRL and answers the question. Runs in a work thread. */
export function examineCrl({ bytes, issuers, serialNumber }: Task): Examined | { readonly unreadable: string } {
  try {
    const der = derOfCrl(bytes);
    const digest = hash('sha256', der, 'base64');
    const crl = readCrl(der, digest);
    const signed = issuers.map((issuer) => crl.isSignedBy(pathCertificate(issuer)));
    return { der: inSharedMemory(der).buffer, digest, signed, found: crl.lookUp(serialNumber) };
  } catch (error) {
    if (error instanceof DerError) return { unreadable: error.message };
    throw error;
  }
}

/** Returns the same bytes, which are all of their memory; a copy unless they are so already. */
function inSharedMemory(bytes: Uint8Array): Uint8Array<SharedArrayBuffer> {
  const { buffer, length } = bytes;
  if (buffer instanceof SharedArrayBuffer && buffer.byteLength === length) return new Uint8Array(buffer);
  const copy = new Uint8Array(sharedMemory(length));
  copy.set(bytes);
  return copy;
}
