import type { SignerKeyType } from '../certificates/signer-certificate.ts';
import type { HashName, SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { SignatureFormat, SignerChain } from './format.ts';
import type { AskedLevel } from './levels/asked-level.ts';
import type { LevelWriter } from './levels/level-writer.ts';
import type { SignatureParameters } from './request/parameters.ts';

/** The signing key, on the token or elsewhere. */
export interface SignerKey {
  readonly type: SignerKeyType;
}

/** A signer: its key, and its certificate with the chain. */
export interface Signer {
  readonly key: SignerKey;
  readonly chain: SignerChain;
}

/** A document, as far as the request alone describes it. */
export interface AskedDocument {
  /** Hash of the digest given instead of content. */
  readonly digestHash: HashName | undefined;
}

/** A CA certificate that the signer's chain must contain. */
export interface TrustedCa {
  /** SHA-1 of its DER, hexadecimal. */
  readonly fingerprint: string;
  /** JSON Pointer of the field. */
  readonly at: string;
}

/** Algorithm and parameters of a format, once the signer is known. */
export interface FormatPlan<Parameters> {
  /**
   * Algorithm of all signatures of a request; undefined if neither a key nor the request determines
   * it.
   */
  readonly algorithm: SignatureAlgorithm | undefined;
  /** Parameters of `SignatureFormat.prepare`. */
  readonly parameters: Parameters;
}

/** A requested signature, as far as the request alone describes it. */
export interface AskedSignature<Parameters = unknown> {
  /** Level above baseline B; undefined for baseline B and for formats without levels. */
  readonly level: AskedLevel | undefined;
  readonly trustedCa: TrustedCa | undefined;
  /** Whether documents may be given as digests. */
  readonly takesDigests: boolean;
  /** Whether documents may have a password. */
  readonly takesPasswords: boolean;
  /** Whether the evidence is text. */
  readonly isText: boolean;
  /**
   * Determines algorithm and parameters before any document is read. `signer` is undefined only
   * if the format binds no certificate and none was given.
   * @throws {Refusal} FIELDS_INCONSISTENT
   */
  plan(documents: readonly AskedDocument[], signer: Signer | undefined): FormatPlan<Parameters>;
}

/** Rules of the caller's tenant. */
export interface RequestRules {
  readonly allowSha1: boolean;
  /** Checks whether the service may connect to a URL from the caller. @throws {Refusal} */
  checkUrl(text: string, at: string): void;
}

/** A format's entry in the table of formats. */
export interface FormatEntry<Parameters, State> {
  /** Name of the format in messages, as in the interface. */
  readonly title: string;
  readonly format: SignatureFormat<Parameters, State>;
  /** Writes the levels above baseline B, if the format has any. */
  readonly levels: LevelWriter<State> | undefined;
  /**
   * Reads the parameters. Returns undefined if they ask for another format.
   * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED
   */
  asked(parameters: SignatureParameters, rules: RequestRules): AskedSignature<Parameters> | undefined;
}
