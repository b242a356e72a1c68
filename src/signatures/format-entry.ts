import type { SignerKeyType } from '../certificates/signer-certificate.ts';
import type { HashName, SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { PictureSettings } from '../twoddoc/code-picture.ts';
import type { SignatureFormat, SignerChain } from './format.ts';
import type { AskedLevel } from './levels/asked-level.ts';
import type { LevelWriter } from './levels/level-writer.ts';
import type { SignatureParameters } from './request/parameters.ts';
import type { XP7Signature } from './request/xp7-signature.ts';

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
  /**
   * Pointer to the parameters to name if the token does not support the algorithm; absent if the
   * request has none.
   */
  readonly algorithmAt?: string | undefined;
  /** Parameters of `SignatureFormat.prepare`. */
  readonly parameters: Parameters;
}

/** A requested signature, as far as the request alone describes it. */
export interface AskedSignature<Options = unknown> {
  /** Level above baseline B; undefined for baseline B and for formats without levels. */
  readonly level: AskedLevel | undefined;
  readonly trustedCa: TrustedCa | undefined;
  /** Whether documents may be given as digests. */
  readonly takesDigests: boolean;
  /** Whether documents may have a password. */
  readonly takesPasswords: boolean;
  /** Whether the evidence is text. */
  readonly isText: boolean;
  /** Options of this format alone, for its `plan`. */
  readonly options: Options;
}

/** Language and time zone of what a document shows. */
export interface Locale {
  readonly language: 'en' | 'fr';
  /** Of the IANA database. */
  readonly timeZone: string;
}

/** Rules for the caller's tenant. */
export interface RequestRules {
  readonly allowSha1: boolean;
  /** Language and time zone of visible signatures. */
  readonly locale: Locale;
  /** How pictures of 2D-Doc codes are drawn. */
  readonly picture: PictureSettings;
  /** Checks whether the service may connect to a URL from the caller. @throws {Refusal} */
  checkUrl(text: string, at: string): void;
}

/** The part of the parameters that asks for a format: a member, or a value of XP7Format. */
export type AskedBy =
  | { readonly member: Exclude<keyof SignatureParameters, 'XP7Signature'> }
  | { readonly member: 'XP7Signature'; readonly xp7Format: XP7Signature['XP7Format'] };

/**
 * A format's entry in the table of formats. `Member`: the member of the request's parameters that
 * asks for it.
 */
export interface FormatEntry<Member, Options, Parameters, State> {
  readonly askedBy: AskedBy;
  readonly format: SignatureFormat<Parameters, State>;
  /** Writes the levels above baseline B, if the format has any. */
  readonly levels: LevelWriter<State> | undefined;
  /** Reads the member. @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED */
  asked(member: Member, rules: RequestRules): AskedSignature<Options>;
  /**
   * Determines algorithm and parameters before any document is read. `signer` is undefined only
   * if the format binds no certificate and none was given.
   * @throws {Refusal} FIELDS_INCONSISTENT
   */
  plan(asked: AskedSignature<Options>, documents: readonly AskedDocument[], signer: Signer | undefined): FormatPlan<Parameters>;
}
