import { DocumentDigests } from '../documents/document-digests.ts';
import type { InputDocument } from '../documents/document.ts';
import { Refusal } from '../result-codes.ts';
import type { KeyChange } from '../state/repositories/uses.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { Token } from '../token/token.ts';
import type { Activation, Complete } from './activation.ts';
import type { GivenSecret } from './credentials.ts';
import type { Destruction } from './destruction.ts';
import { restOf, tooManySignatures } from './activation-data.ts';
import { coversDocuments, type Naming } from './digest-binding.ts';
import type { KeyRecord } from './key-record.ts';
import { secretAt, signReserved, verifyReserved, type PossibleSecret, type Reserved } from './reserved.ts';
import type { Verdict } from './settling.ts';
import { transitions } from './states.ts';

/** The digests to be signed by the token, and the documents that they belong to. */
export interface ToBeSigned {
  readonly algorithm: SignatureAlgorithm;
  readonly digests: readonly Uint8Array[];
  readonly documents: readonly InputDocument[];
  /** Whether the documents have the IDs of bindings. Default: by ID. */
  readonly naming?: Naming | undefined;
}

interface SigningParts {
  readonly activation: Activation;
  readonly token: Pick<Token, 'signWithProof' | 'verifyProof' | 'makeMac'>;
  readonly destruction: Destruction;
  /** Threads that hash large documents; undefined: the event loop. */
  readonly threads: Pick<WorkThreads, 'run'> | undefined;
}

/** Signs with a key after its secret is verified, if the key and the secret allow the documents. */
export class Signing {
  readonly #parts: SigningParts;

  constructor(parts: SigningParts) {
    this.#parts = parts;
  }

  /** @see Keyring.sign */
  async sign<T extends object>(key: KeyRecord, given: GivenSecret, what: ToBeSigned, complete: Complete<T>): Promise<T> {
    const { algorithm, digests } = what;
    const { activation, token, destruction } = this.#parts;
    const change: KeyChange | undefined = key.protocol === 'SINGLE_USE' ? { kind: 'end', ...transitions.consume } : undefined;
    const ask = async (reserved: Reserved<'SIGN'>): Promise<Verdict> => {
      const isBound = [key, ...reserved.candidates].some(({ binding }) => binding !== undefined);
      const allowed = isBound ? await this.#allowed(key, reserved, what) : reserved.candidates;
      if (allowed === undefined) return { verified: false };
      const mayMake = (secret: PossibleSecret): boolean => digests.length <= (secret.data?.signatures ?? Infinity);
      const outcome = await signReserved(token, reserved, { algorithm, digests }, (secret) => allowed.includes(secret) && mayMake(secret));
      if (!outcome.verified) return outcome;
      const { by, values } = outcome;
      const secret = secretAt(reserved, by);
      if (values.length === 0) return { verified: true, by, usesUp: true, refusal: notAuthorised(mayMake(secret)) };
      const steps = change === undefined ? await restOf(token, key, secret, digests.length) : [];
      return { verified: true, by, usesUp: true, change, steps, values };
    };
    const result = await activation.activate(key, { use: 'sign', action: 'SIGN', given }, ask, complete);
    if (change !== undefined) await destruction.finish(key.id);
    return result;
  }

  /**
   * Returns the candidate secrets that allow the documents to be signed, where the key or a
   * candidate is bound to documents. If hashing the documents takes time, the secret is verified
   * first: undefined if it is wrong, so that nothing is hashed for it.
   */
  async #allowed(
    key: KeyRecord,
    reserved: Reserved<'SIGN'>,
    { documents, naming }: ToBeSigned,
  ): Promise<readonly PossibleSecret[] | undefined> {
    const { candidates } = reserved;
    const digests = new DocumentDigests(documents, this.#parts.threads);
    let asked = candidates;
    if (digests.areBig) {
      const outcome = await verifyReserved(this.#parts.token, reserved);
      if (!outcome.verified) return undefined;
      asked = candidates.slice(outcome.by, outcome.by + 1);
    }
    const allowed: PossibleSecret[] = [];
    if (!(await coversDocuments(key.binding, documents, digests, naming))) return allowed;
    for (const secret of asked) if (await coversDocuments(secret.binding, documents, digests, naming)) allowed.push(secret);
    return allowed;
  }
}

function notAuthorised(mayMakeSoMany: boolean): Refusal {
  if (mayMakeSoMany) return new Refusal('DIGEST_NOT_AUTHORISED');
  return new Refusal('DIGEST_NOT_AUTHORISED', { message: tooManySignatures });
}
