import type { KeyType } from '../config/key-types.ts';
import type { KeyId } from './key-id.ts';
import type { SignatureAlgorithm } from './signature-algorithm.ts';

/** Kinds of secrets. The MAC covers the kind, so a MAC of one kind is never valid for another. */
export const secretKinds = {
  PASSWORD: 1,
  AUTH_TOKEN: 2,
  OTP_SIGN: 3,
  OTP_CHANGE_PASSWORD: 4,
  OTP_REVOKE: 5,
  TRANSACTION: 6,
  /** Not a secret: the seal of a row of the state store. It authorises nothing. */
  RECORD: 7,
  /** A one-time password that authorises activation data, and nothing else. */
  OTP_AUTHORISE: 8,
  /** Signature activation data of the Cloud Signature Consortium. */
  SAD: 9,
  /** Activation data that has signed, with signatures left: it is only exchanged for new data. */
  SAD_REST: 10,
} as const;
export type SecretKind = keyof typeof secretKinds;

/** Secrets that let a key sign. */
export const signingKinds: ReadonlySet<SecretKind> = new Set<SecretKind>(['PASSWORD', 'AUTH_TOKEN', 'OTP_SIGN', 'SAD']);

/** A secret and the MAC to check it against. The token compares (C_Verify). */
export interface Proof {
  readonly kind: SecretKind;
  /** 16 bytes. */
  readonly salt: Uint8Array;
  readonly secret: Uint8Array;
  /** SHA-256 of what the records say the secret is valid for; the MAC covers it too. */
  readonly scope: Uint8Array;
  /** HMAC-SHA256, 32 bytes, and the number of the MAC key (`mac-generation.ts`). */
  readonly mac: Uint8Array;
}

/** Salt and MAC against which a secret is checked. */
export interface MadeMac {
  /** 16 bytes. */
  readonly salt: Uint8Array;
  /** As in `Proof`. */
  readonly mac: Uint8Array;
}

/**
 * One of the stored secrets that the given one may match. `signs`: it lets the key sign; otherwise
 * it is only verified.
 */
export interface Candidate extends Proof {
  readonly signs: boolean;
}

/**
 * The proofs that must verify, in one message. All are compared even after one fails, so that
 * timing reveals nothing.
 */
export interface Proofs {
  /** At least one. The first that verifies decides. */
  readonly anyOf: readonly Candidate[];
  /** Must verify in addition. */
  readonly also?: Proof | undefined;
}

/** The index of the candidate that verified, or that the proofs do not verify. */
export type ProofOutcome = { readonly verified: true; readonly by: number } | { readonly verified: false };

/**
 * Result of signing with a caller's key. There are no values if the candidate that verified does
 * not sign.
 */
export type SignOutcome =
  | { readonly verified: true; readonly by: number; readonly values: readonly Uint8Array[] }
  | { readonly verified: false };

/**
 * `taken`: another taker has it. `gone`: it is not on the token. `unmarkable`: the token does not
 * allow keys to be marked.
 */
export const claimOutcomes = ['claimed', 'taken', 'gone', 'unmarkable'] as const;
export type ClaimOutcome = (typeof claimOutcomes)[number];

/** A key on the token, as the host lists it. */
export interface TokenKey {
  readonly id: KeyId;
}

/**
 * The port to the token. Every method rejects with TokenUnavailable if the token is down, too busy,
 * or does not answer in time, and with KeyGone if the token does not have the signing key. ECDSA
 * values are r‖s of fixed width (PKCS#11 §2.3.1); RSA values have the length of the modulus.
 */
export interface Token {
  /**
   * Makes a sensitive, non-extractable, sign-only key pair and returns its public key
   * (SubjectPublicKeyInfo, DER).
   */
  createKey(id: KeyId, type: KeyType): Promise<Uint8Array>;
  /** Destroys the private key. A missing key is not an error. */
  destroyKey(id: KeyId): Promise<void>;
  /**
   * Signs a message with one of the service's own keys. The host parses and hashes the message, and
   * rejects one that does not fit the key's purpose.
   */
  signAsService(id: KeyId, algorithm: SignatureAlgorithm, message: Uint8Array): Promise<Uint8Array>;
  /**
   * Signs digests with a service key for general use; no other service key signs content that the
   * host has not seen.
   */
  signDigests(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
  /** Verifies the proofs and then signs, in one message. @throws {KeyHeldBack} */
  signWithProof(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[], proofs: Proofs): Promise<SignOutcome>;
  /**
   * As `signWithProof`, with the key of a digital identity, which signs whole messages: the host
   * hashes them, and rejects one that does not have the form of a data zone of 2D-Doc.
   * @throws {KeyHeldBack}
   * @throws {RangeError} if a message is longer than `maxZoneBytes`
   */
  signAsIdentity(id: KeyId, algorithm: SignatureAlgorithm, zones: readonly Uint8Array[], proofs: Proofs): Promise<SignOutcome>;
  /** Verifies proofs without signing. @throws {KeyHeldBack} */
  verifyProof(id: KeyId, proofs: Proofs): Promise<ProofOutcome>;
  /**
   * Makes the MAC of a new secret of a key, with a salt that the token host draws: a caller cannot
   * reuse an existing salt. `scope`: as in `Proof`.
   */
  makeMac(id: KeyId, kind: SecretKind, secret: Uint8Array, scope: Uint8Array): Promise<MadeMac>;
  /**
   * Marks a key on the token itself as handed out to the taker named by `claim`. This works once:
   * even an instance that uses an old copy of the records cannot take the key again.
   */
  claimKey(id: KeyId, claim: string): Promise<ClaimOutcome>;
  random(bytes: number): Promise<Uint8Array>;
  /**
   * Returns all keys of signetd. Soon after a start of the host this waits until they have been
   * read.
   */
  listKeys(): Promise<readonly TokenKey[]>;
  /** Returns those of these keys that are on the token. */
  findKeys(ids: readonly KeyId[]): Promise<ReadonlySet<KeyId>>;
}

/**
 * The keys that secrets are checked with, by their numbers (`mac-generation.ts`; default 0). Their identifiers
 * never change, so only their MACs distinguish them from other keys.
 */
export interface TokenMacKey {
  /**
   * Returns the check value of a key: its MAC of a constant, 32 bytes, which reveals nothing about
   * it. Undefined if the token has no such key.
   */
  check(generation?: number): Promise<Uint8Array | undefined>;
  /**
   * Makes a key unless it exists, and returns its check value. The caller must prevent concurrent
   * calls.
   */
  make(generation?: number): Promise<Uint8Array>;
  /**
   * Destroys a key if the token has the one in force, which is newer. A missing key is not an
   * error.
   */
  destroy(generation: number, current: number): Promise<void>;
}

/** The token is down, overloaded, or did not answer in time (2/291). */
export class TokenUnavailable extends Error {
  /** Whether the request was never sent, so that it cannot have had an effect. */
  readonly nothingDone: boolean;

  constructor(message: string, { nothingDone = false, ...options }: ErrorOptions & { readonly nothingDone?: boolean } = {}) {
    super(message, options);
    this.name = 'TokenUnavailable';
    this.nothingDone = nothingDone;
  }
}

/** The token does not have the key. */
export class KeyGone extends TokenUnavailable {
  constructor(message: string) {
    super(message);
    this.name = 'KeyGone';
  }
}

/**
 * The key has had so many wrong secrets that the token host compares none for it until `until`.
 * Nothing was compared.
 */
export class KeyHeldBack extends Error {
  readonly until: Date;

  constructor(until: Date) {
    super(`the token host answers for the key again at ${until.toISOString()}`);
    this.name = 'KeyHeldBack';
    this.until = until;
  }
}

/**
 * The token is available but does not support the request: another attempt would fail the same way.
 */
export class TokenCannot extends TokenUnavailable {
  constructor(message: string) {
    super(message);
    this.name = 'TokenCannot';
  }
}

/** The token has no room for another key. */
export class TokenFull extends TokenUnavailable {
  constructor(message: string) {
    super(message);
    this.name = 'TokenFull';
  }
}

/**
 * More requests are waiting for the token than it can serve in time: nothing was done (HTTP 503).
 */
export class TokenBusy extends TokenUnavailable {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('too many requests wait for the token', { nothingDone: true });
    this.name = 'TokenBusy';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/**
 * The token host ended and reported what is wrong with the token or the configuration: another
 * start would fail the same way.
 */
export class HostRefusedError extends TokenUnavailable {
  /** Exit code of the host process. */
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.name = 'HostRefusedError';
    this.exitCode = exitCode;
  }
}

/**
 * The token refuses the PIN. It is not tried again until an operator intervenes: each attempt
 * brings the token closer to being locked.
 */
export class PinRefusedError extends HostRefusedError {
  constructor(exitCode: number) {
    super('the token refuses the PIN', exitCode);
    this.name = 'PinRefusedError';
  }
}
