import type { SignerKeyType } from '../certificates/signer-certificate.ts';
import type { HashName, SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { SignatureFormat, SignerChain } from './format.ts';
import type { AskedLevel } from './levels/asked-level.ts';
import type { LevelWriter } from './levels/level-writer.ts';
import type { SignatureParameters } from './request/parameters.ts';

/** The key that values are made with, wherever it is. */
export interface SignerKey {
  readonly type: SignerKeyType;
}

/** A signer: its key, and its certificate with the chain. */
export interface Signer {
  readonly key: SignerKey;
  readonly chain: SignerChain;
}

/** A document as far as the request alone says. */
export interface AskedDocument {
  /** Hash of the digest that is given instead of content. */
  readonly digestHash: HashName | undefined;
}

/** A CA certificate that the signer's chain must contain. */
export interface TrustedCa {
  /** SHA-1 of its DER, hexadecimal. */
  readonly fingerprint: string;
  /** Pointer of the field. */
  readonly at: string;
}

/** What a format signs with, once the signer is known. */
export interface FormatPlan<Parameters> {
  /** One for all signatures of a request; undefined where neither a key nor the request says. */
  readonly algorithm: SignatureAlgorithm | undefined;
  /** Parameters of `SignatureFormat.prepare`. */
  readonly parameters: Parameters;
}

/** A signature that a request asks for, as far as the request alone says. */
export interface AskedSignature<Parameters = unknown> {
  /** Above baseline B; undefined: baseline B, or a format without levels. */
  readonly level: AskedLevel | undefined;
  readonly trustedCa: TrustedCa | undefined;
  /** Documents may be given as digests. */
  readonly takesDigests: boolean;
  /** Documents may have a password. */
  readonly takesPasswords: boolean;
  /** The evidence is text. */
  readonly isText: boolean;
  /**
   * Decides what follows from the key, before any document is read. `signer` is undefined only
   * where the format binds no certificate and none was given.
   * @throws {Refusal} FIELDS_INCONSISTENT
   */
  plan(documents: readonly AskedDocument[], signer: Signer | undefined): FormatPlan<Parameters>;
}

/** Rules of the caller's tenant. */
export interface RequestRules {
  readonly allowSha1: boolean;
  /** Checks whether the service may connect to a URL of the caller. @throws {Refusal} */
  checkUrl(text: string, at: string): void;
}

/** A format's entry in the table of formats. */
export interface FormatEntry<Parameters, State> {
  /** The format in messages, by its name in the interface. */
  readonly title: string;
  readonly format: SignatureFormat<Parameters, State>;
  /** Writes the levels above baseline B, where the format has them. */
  readonly levels: LevelWriter<State> | undefined;
  /** Reads the parameters; undefined: they ask for another format. @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED */
  asked(parameters: SignatureParameters, rules: RequestRules): AskedSignature<Parameters> | undefined;
}
