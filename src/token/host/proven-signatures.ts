import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Handle } from 'pkcs11js';
import { isCallersKey, keyIdLength, type KeyId } from '../key-id.ts';
import { handleIsStale } from '../pkcs11-faults.ts';
import { digestsOf, isLongEcdsa } from '../wire/sign-message.ts';
import type { KeyDirectory } from './key-directory.ts';
import type { MacKeys } from './mac-keys.ts';
import type { SecretChecks } from './secret-checks.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';
import type { SigningKeys } from './signing-keys.ts';

/**
 * Verifies the proof of a request to sign, and signs only then. Returns the length of the answer's
 * body, which it writes, or one of `outcomes`. `generation`: the number of the MAC key; a request with
 * a MAC of another one is unusual. `ecdsaBytes`: how much of a digest ECDSA with this key signs.
 * @throws {Error} with the CKR_ value as its `code`, and the number of values that the token made
 * before as `made`
 */
type ProveAndSign = (
  session: Handle,
  macKey: Handle,
  key: Handle,
  body: Uint8Array,
  answer: Uint8Array,
  generation: number,
  ecdsaBytes: number,
) => number;

/** Exports of `native/prove-and-sign.c`. Arguments of a wrong type cause a TypeError. */
interface Native {
  /** Returns the function for the module that this process has loaded from the path. */
  open(modulePath: string): ProveAndSign;
}

/** Results of the native function for which it writes no answer. `unusual`: it has done nothing. */
const outcomes = { wrongSecret: -1, unusual: -2 } as const;

/** Room for the values of at least 60 digests. */
const answerMaxBytes = 64 * 1024;

const digestMaxBytes = 64;

/** Built by packaging/bootstrap.sh. */
const file = fileURLToPath(new URL('../../../dist/prove-and-sign.node', import.meta.url));

/**
 * Signatures with a caller's key, of the usual form: one secret, which signs, and perhaps a proof
 * that must verify in addition. A native function verifies and signs, which is several times faster
 * than four calls of PKCS#11 from JavaScript without JIT.
 */
export class ProvenSignatures {
  readonly #proveAndSign: ProveAndSign;
  readonly #sessionNow: () => Session;
  readonly #keys: KeyDirectory;
  readonly #macKeys: MacKeys;
  readonly #secrets: SecretChecks;
  readonly #signing: SigningKeys;
  /** Buffer that values are written to; they are copied out of it. */
  readonly #answer = Buffer.alloc(answerMaxBytes);

  /** @param sessionNow the session of this thread, which is reopened after some faults */
  constructor(sessionNow: () => Session, keys: KeyDirectory, macKeys: MacKeys, secrets: SecretChecks, signing: SigningKeys) {
    this.#sessionNow = sessionNow;
    this.#keys = keys;
    this.#macKeys = macKeys;
    this.#secrets = secrets;
    this.#signing = signing;
    // A native module has no types; this interface describes the C source.
    const native = createRequire(import.meta.url)(file) as Native;
    this.#proveAndSign = native.open(sessionNow().module.libPath);
  }

  /**
   * Executes a request to sign (`readSign`), and returns the body of its answer; undefined if it is
   * left to the general way: it is not of the usual form, its key is held back, or a handle is
   * unknown or stale.
   * @throws {Error} with a CKR_ value as its `code`
   */
  answer(body: Buffer): Buffer | 'wrongSecret' | undefined {
    if (this.#secrets.comparedBy === 'host' || !isCallersKey(body)) return undefined;
    const id = body.toString('hex', 0, keyIdLength) as KeyId;
    const key = this.#keys.get(id);
    const macKey = this.#macKeys.newest;
    if (key === undefined || macKey === undefined || !this.#secrets.mayCompare(id)) return undefined;
    let length: number;
    try {
      const ecdsaBytes = isLongEcdsa(body) ? this.#signing.ecdsaBytes(id, key) : digestMaxBytes;
      length = this.#proveAndSign(this.#sessionNow().handle, macKey.handle, key, body, this.#answer, macKey.generation, ecdsaBytes);
    } catch (error) {
      this.#record(id, body, madeBefore(error));
      if (handleIsStale(pkcs11Code(error))) return undefined;
      throw withName(error);
    }
    if (length === outcomes.unusual) return undefined;
    if (length === outcomes.wrongSecret) {
      this.#secrets.wrong(id, 1);
      return 'wrongSecret';
    }
    this.#record(id, body, undefined);
    return Buffer.copyBytesFrom(this.#answer, 0, length);
  }

  /** Records the signatures over the first digests, or all of them. */
  #record(id: KeyId, body: Buffer, count: number | undefined): void {
    if (count === 0) return;
    const { algorithm, digests } = digestsOf(body);
    for (const digest of count === undefined ? digests : digests.slice(0, count)) this.#signing.record(id, algorithm, digest);
  }
}

/** Adds the name of the error, for operators. */
function withName(error: unknown): unknown {
  const code = pkcs11Code(error);
  const [name] = Object.entries(pkcs11js).find(([constant, value]) => constant.startsWith('CKR_') && value === code) ?? [];
  if (error instanceof Error && name !== undefined) error.message = `${name}: ${error.message}`;
  return error;
}

function madeBefore(error: unknown): number {
  return error instanceof Error && 'made' in error && typeof error.made === 'number' ? error.made : 0;
}
