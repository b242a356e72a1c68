import type { KeyType } from '../config/profile.ts';
import type { KeyId } from './key-id.ts';
import type { SignatureAlgorithm } from './signature-algorithm.ts';

/** What a secret is for. It is part of what its MAC covers, so a MAC of one kind never passes as another. */
export const secretKinds = {
  PASSWORD: 1,
  AUTH_TOKEN: 2,
  OTP_SIGN: 3,
  OTP_CHANGE_PASSWORD: 4,
  OTP_REVOKE: 5,
  TRANSACTION: 6,
  /** No secret: the seal of a row of the state store. It authorises nothing. */
  RECORD: 7,
} as const;
export type SecretKind = keyof typeof secretKinds;

/** Secrets that let a key sign. */
export const signingKinds: ReadonlySet<SecretKind> = new Set<SecretKind>(['PASSWORD', 'AUTH_TOKEN', 'OTP_SIGN']);

/** A secret and the MAC that it is checked against. The token compares (C_Verify). */
export interface Proof {
  readonly kind: SecretKind;
  /** 16 bytes. */
  readonly salt: Uint8Array;
  readonly secret: Uint8Array;
  /** What the secret is good for: a SHA-256 of what the records say of it, which the MAC covers too. */
  readonly scope: Uint8Array;
  /** HMAC-SHA256, 32 bytes. */
  readonly mac: Uint8Array;
}

/** What a secret is checked against. */
export interface MadeMac {
  /** 16 bytes. */
  readonly salt: Uint8Array;
  /** 32 bytes. */
  readonly mac: Uint8Array;
}

/** One of the secrets that a given one may be. `signs`: with it the key signs; else it is verified alone. */
export interface Candidate extends Proof {
  readonly signs: boolean;
}

/** What has to verify, in one message. All of it is compared, whatever fails, so that the time tells nothing. */
export interface Proofs {
  /** At least one; the first that verifies decides. */
  readonly anyOf: readonly Candidate[];
  /** And this one as well. */
  readonly also?: Proof | undefined;
}

/** Which candidate was right, by its place in the list; or that the proofs do not verify. */
export type ProofOutcome = { readonly verified: true; readonly by: number } | { readonly verified: false };

/** What the token answers to a caller's signature. No values where the candidate that was right does not sign. */
export type SignOutcome =
  | { readonly verified: true; readonly by: number; readonly values: readonly Uint8Array[] }
  | { readonly verified: false };

/** `taken`: somebody else has it. `gone`: it is not on the token. `unmarkable`: the token lets no key be marked. */
export const claimOutcomes = ['claimed', 'taken', 'gone', 'unmarkable'] as const;
export type ClaimOutcome = (typeof claimOutcomes)[number];

/** A key on the token, as the host lists it. */
export interface TokenKey {
  readonly id: KeyId;
}

/**
 * The port to the token. Every method rejects with TokenUnavailable where the token is down, too busy, or does not answer in time, and with KeyGone where
 * it was searched for a key to sign with and does not have it.
 * Values of ECDSA are r‖s of fixed width (PKCS#11 §2.3.1), those of RSA as long as the modulus.
 */
export interface Token {
  /** Makes a sensitive, non-extractable, sign-only key pair and returns its public key (SubjectPublicKeyInfo, DER). */
  createKey(id: KeyId, type: KeyType): Promise<Uint8Array>;
  /** Destroys the private key. A key that is not there is no error. */
  destroyKey(id: KeyId): Promise<void>;
  /**
   * Signs a message with one of the service's own keys, which has a purpose that the message must fit: the host looks at it, and hashes it.
   * Rejects where it does not fit.
   */
  signAsService(id: KeyId, algorithm: SignatureAlgorithm, message: Uint8Array): Promise<Uint8Array>;
  /** Signs digests with a key of the service for general use; no other key signs what the host has not seen. */
  signDigests(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
  /** Verifies the proofs and then signs, in one message. @throws {KeyHeldBack} */
  signWithProof(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[], proofs: Proofs): Promise<SignOutcome>;
  /** Verifies proofs alone. @throws {KeyHeldBack} */
  verifyProof(id: KeyId, proofs: Proofs): Promise<ProofOutcome>;
  /** The MAC of a new secret of a key, with a salt that the token host draws: no MAC is made with one that exists. `scope`: as in `Proof`. */
  makeMac(id: KeyId, kind: SecretKind, secret: Uint8Array, scope: Uint8Array): Promise<MadeMac>;
  /**
   * Marks a key on the token itself as handed out, to a taker whom `claim` names. Once: however old the copy of the records is that somebody goes
   * by, nobody else gets it.
   */
  claimKey(id: KeyId, claim: string): Promise<ClaimOutcome>;
  random(bytes: number): Promise<Uint8Array>;
  listKeys(): Promise<readonly TokenKey[]>;
}

/** The key that all secrets are checked with. It has one identifier for ever, so nothing but its MACs tells it from another one. */
export interface TokenMacKey {
  /** What it is known by: its MAC of a constant, 32 bytes, which tells nothing of it. Undefined where the token has none. */
  check(): Promise<Uint8Array | undefined>;
  /** Makes it, unless there is one, and answers what it is known by. The caller sees to it that nobody else does so meanwhile. */
  make(): Promise<Uint8Array>;
}

/** The token is down, overloaded, or did not answer in time (2/291). */
export class TokenUnavailable extends Error {
  /** Whether the request never left: nothing can come of it. */
  readonly nothingDone: boolean;

  constructor(message: string, { nothingDone = false, ...options }: ErrorOptions & { readonly nothingDone?: boolean } = {}) {
    super(message, options);
    this.name = 'TokenUnavailable';
    this.nothingDone = nothingDone;
  }
}

/** The token was searched for the key, and does not have it. */
export class KeyGone extends TokenUnavailable {
  constructor(message: string) {
    super(message);
    this.name = 'KeyGone';
  }
}

/** The key has had so many wrong secrets that the token host compares none for it until then. Nothing was compared. */
export class KeyHeldBack extends Error {
  readonly until: Date;

  constructor(until: Date) {
    super(`the token host answers for the key again at ${until.toISOString()}`);
    this.name = 'KeyHeldBack';
    this.until = until;
  }
}

/** The token is there, and cannot do what it was asked for: another try would end alike. */
export class TokenCannot extends TokenUnavailable {
  constructor(message: string) {
    super(message);
    this.name = 'TokenCannot';
  }
}

/** More requests wait for the token than it can serve in time: nothing was done (HTTP 503). */
export class TokenBusy extends TokenUnavailable {
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('too many requests wait for the token', { nothingDone: true });
    this.name = 'TokenBusy';
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The token host ended and said what is wrong with token or configuration: another start would end alike. */
export class HostRefusedError extends TokenUnavailable {
  /** Of the host's process. */
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.name = 'HostRefusedError';
    this.exitCode = exitCode;
  }
}

/** The token refuses the PIN. Nobody tries again before an operator has looked: each try brings the token nearer to its lock. */
export class PinRefusedError extends HostRefusedError {
  constructor(exitCode: number) {
    super('the token refuses the PIN', exitCode);
    this.name = 'PinRefusedError';
  }
}
