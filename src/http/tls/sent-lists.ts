import { hash, X509Certificate } from 'node:crypto';
import { moduleFile } from '../../config/module-file.ts';
import { counted, sharedMemory } from '../../service/shared-memory.ts';
import type { ThreadFunction, WorkThreads } from '../../threads/work-threads.ts';
import type { SignedList } from './client-trust.ts';
import { readRevocationLists, TlsMaterialError } from './revocation-lists.ts';

interface Task {
  /** As a server sent them, DER or PEM. */
  readonly bytes: Uint8Array;
  /** Begins messages. */
  readonly source: string;
  /** Certificates in DER. */
  readonly authorities: readonly Uint8Array[];
}

interface Examined extends Pick<SignedList, 'der' | 'thisUpdate' | 'nextUpdate' | 'number'> {
  /** Index of the CA. */
  readonly authority: number;
  /** Sorted. */
  readonly digests: SharedArrayBuffer;
}

/** Maximum number of CRLs in one answer: at least this many CAs may have theirs at one URL. */
const listsMax = 256;

const thread: ThreadFunction = { module: moduleFile('./sent-lists', import.meta.url), name: 'examineSentLists', lane: 'quick' };

/**
 * Reads CRLs as a server sent them and verifies each under the CA that it names, in a thread: a CRL
 * of some megabytes takes seconds.
 * @throws {TlsMaterialError} for anything else
 */
export async function readSentLists(
  bytes: Uint8Array,
  source: string,
  { authorities, threads }: { readonly authorities: readonly X509Certificate[]; readonly threads: Pick<WorkThreads, 'run'> },
): Promise<SignedList[]> {
  const task: Task = { bytes, source, authorities: authorities.map(({ raw }) => Uint8Array.from(raw)) };
  const outcome = await threads.run<{ readonly lists: readonly Examined[] } | { readonly fault: string }>(thread, task);
  if ('fault' in outcome) throw new TlsMaterialError(outcome.fault);
  return outcome.lists.flatMap(({ der, thisUpdate, nextUpdate, number, authority: index, digests }) => {
    const authority = authorities[index];
    return authority === undefined ? [] : [{ der, thisUpdate, nextUpdate, number, authority, revoked: new SerialDigests(digests) }];
  });
}

/** Does the work of `readSentLists`. Runs in a work thread. */
export function examineSentLists({ bytes, source, authorities }: Task): { lists: Examined[] } | { fault: string } {
  const certificates = authorities.map((raw) => new X509Certificate(raw));
  try {
    const lists = readRevocationLists(Buffer.from(bytes), source, certificates, listsMax).map(
      ({ der, thisUpdate, nextUpdate, number, authority, revoked }) => ({
        ...{ der: Uint8Array.from(der), thisUpdate, nextUpdate, number, authority: certificates.indexOf(authority) },
        digests: digestsOf(revoked),
      }),
    );
    return { lists };
  } catch (error) {
    if (error instanceof TlsMaterialError) return { fault: error.message };
    throw error;
  }
}

function digestsOf(serialNumbers: ReadonlySet<string>): SharedArrayBuffer {
  const memory = sharedMemory(8 * serialNumbers.size);
  const digests = new BigUint64Array(memory);
  let index = 0;
  for (const serialNumber of serialNumbers) {
    digests[index] = digestOf(serialNumber);
    index += 1;
  }
  digests.sort();
  return memory;
}

/**
 * A set of serial numbers as the sorted beginnings of their digests, which threads share: handing
 * over hundreds of thousands of texts would take the event loop half a second. Of 64 bits, two
 * serial numbers of a CA do not have the same.
 */
class SerialDigests {
  readonly #digests: BigUint64Array;

  constructor(memory: SharedArrayBuffer) {
    this.#digests = new BigUint64Array(counted(memory));
  }

  get size(): number {
    return this.#digests.length;
  }

  has(serialNumber: string): boolean {
    const wanted = digestOf(serialNumber);
    let [from, until] = [0, this.#digests.length];
    while (from < until) {
      const middle = (from + until) >>> 1;
      const digest = this.#digests[middle] ?? 0n;
      if (digest === wanted) return true;
      if (digest < wanted) from = middle + 1;
      else until = middle;
    }
    return false;
  }
}

function digestOf(serialNumber: string): bigint {
  return hash('sha256', serialNumber, 'buffer').readBigUInt64BE();
}
