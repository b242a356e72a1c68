import type { Evidence, InputDocument } from '../documents/document.ts';
import { Fault } from '../faults.ts';
import { Refusal } from '../result-codes.ts';
import { valueVerifies } from '../verification/verify-value.ts';
import { pathCertificate } from '../x509/path/path-certificate.ts';
import { signatureValueOf } from './signature-value.ts';
import { cmsEntry } from './cms/cms-entry.ts';
import type { AskedSignature, FormatEntry, RequestRules } from './format-entry.ts';
import { unlessChanged, type Moment, type Prepared, type SignerChain, type Signing } from './format.ts';
import { CertificateRevoked, LevelBroken, type ArchiveImprint, type Level, type LevelWriter, type Raised } from './levels/level-writer.ts';
import type { Additions } from './levels/long-term-data.ts';
import { padesEntry } from './pades/pades-entry.ts';
import { rawEntry } from './raw/raw-entry.ts';
import type { SignatureParameters } from './request/parameters.ts';
import { codeEntry } from './twoddoc/code-entry.ts';
import { detachedEntry } from './xades/detached-entry.ts';
import { envelopingEntry } from './xades/enveloping-entry.ts';
import { envelopedEntry, xp7EnvelopedEntry } from './xades/enveloped-entry.ts';

/** The table of formats, by the names under which sessions store them. */
const table = {
  raw: rawEntry,
  code2DDoc: codeEntry,
  cms: cmsEntry,
  enveloped: envelopedEntry,
  xp7Enveloped: xp7EnvelopedEntry,
  enveloping: envelopingEntry,
  detached: detachedEntry,
  pades: padesEntry,
} as const;

export type FormatName = keyof typeof table;

/**
 * The formats. An entry gets only the member that asks for it, and only its own functions create
 * its options, its parameters and its state.
 */
export const formats: Readonly<Record<FormatName, FormatEntry<unknown, unknown, unknown, unknown>>> = table;

// The keys of the table are its names.
export const formatNames = Object.keys(table) as readonly FormatName[];

/** The requested signature and its format. */
export interface AskedFormat extends AskedSignature {
  readonly format: FormatName;
}

/**
 * Finds the format that the parameters ask for and reads them.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT
 */
export function askedFormat(parameters: SignatureParameters, rules: RequestRules): AskedFormat {
  // The schema allows no other members.
  const members = Object.keys(parameters) as readonly (keyof SignatureParameters)[];
  const given = members.filter((name) => parameters[name] !== undefined);
  const [member, ...others] = given;
  if (member === undefined || others.length > 0) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: '/parameters',
      message: `exactly one of rawSignature, code2DDocSignature, envelopedXAdESSignature, XP7Signature is required; the request has ${given.length}`,
    });
  }
  const { XP7Signature } = parameters;
  const format = formatNames.find((name) => {
    const { askedBy } = formats[name];
    return askedBy.member === 'XP7Signature' ? askedBy.xp7Format === XP7Signature?.XP7Format : askedBy.member === member;
  });
  if (format === undefined) throw new Error(`no format for the member ${member}`);
  return { ...formats[format].asked(parameters[member], rules), format };
}

/** Documents to prepare in one format. Can be cloned into a thread. */
export interface PrepareTask {
  readonly format: FormatName;
  readonly documents: readonly InputDocument[];
  readonly parameters: unknown;
  readonly chain: SignerChain | undefined;
  readonly moment: Moment;
}

/** Signatures to complete in one format. Can be cloned into a thread. */
export interface CompleteTask {
  readonly format: FormatName;
  readonly signatures: readonly ToComplete[];
  readonly signing: Signing | undefined;
}

export interface ToComplete {
  readonly prepared: Prepared<unknown>;
  readonly value: Uint8Array;
  /** Only for levels above baseline B. */
  readonly additions?: Additions | undefined;
}

/** Prepares signatures. @throws {Refusal} if a document or a parameter does not suit the format */
export function prepareTask({ format, documents, parameters, chain, moment }: PrepareTask): readonly Prepared<unknown>[] {
  return formats[format].format.prepare(documents, parameters, chain, moment);
}

/**
 * Completes signatures.
 * @throws {Refusal} DOCUMENT_INVALID if a file has changed
 * @throws {Fault} WRONG_VALUE
 * @throws {Error} if a result does not verify for another reason
 */
export function completeTask({ format, signatures, signing }: CompleteTask): readonly Evidence[] {
  return signatures.map(({ prepared, value, additions }) => {
    try {
      return unlessChanged(prepared.covers[0]?.index ?? 0, () => formats[format].format.complete(prepared, value, signing, additions));
    } catch (error) {
      if (signing === undefined || error instanceof Refusal || error instanceof Fault || isRight(value, prepared, signing)) throw error;
      throw new Fault('WRONG_VALUE', { cause: error });
    }
  });
}

/** Whether a value is the signature of what was prepared. */
function isRight(value: Uint8Array, { digest }: Prepared<unknown>, { algorithm, chain }: Signing): boolean {
  try {
    return valueVerifies(chain.publicKey, algorithm, digest, signatureValueOf(algorithm, value));
  } catch {
    return false;
  }
}

/** A finished signature to be read again for its level. Can be cloned into a thread. */
export interface LevelReadTask {
  readonly format: FormatName;
  readonly evidence: Evidence;
  readonly raised: Raised<unknown>;
}

/** Returns what the archive time-stamp of a signature covers. @throws {Refusal} UNSUPPORTED */
export function archiveImprintTask({ format, evidence, raised }: LevelReadTask): ArchiveImprint {
  return levelWriter(format).archiveImprint(evidence, raised);
}

export interface LevelOfTask extends LevelReadTask {
  readonly wanted: Level;
  readonly trust: {
    /** DER. */
    readonly timeStampAnchors: readonly Uint8Array[];
    readonly allowSha1: boolean;
    readonly signerMayBeRevoked: boolean;
    readonly now: Date;
  };
}

/**
 * The level of a signature, or the part that is not valid: a thread loses the class of an error.
 */
export type LevelOutcome = { readonly level: Level } | { readonly broken: string; readonly isRevoked: boolean };

/** Returns the level that a finished signature reaches. */
export function levelOfTask({ format, evidence, raised, wanted, trust }: LevelOfTask): LevelOutcome {
  const timeStampAnchors = trust.timeStampAnchors.map((der) => pathCertificate(der));
  try {
    return { level: levelWriter(format).levelOf(evidence, raised, wanted, { ...trust, timeStampAnchors }) };
  } catch (error) {
    if (!(error instanceof LevelBroken)) throw error;
    return { broken: error.message, isRevoked: error instanceof CertificateRevoked };
  }
}

/** Returns the writer of levels of a format. @throws {Error} if it has none */
export function levelWriter(format: FormatName): LevelWriter<unknown> {
  const { levels } = formats[format];
  if (levels === undefined) throw new Error(`the format ${format} has no levels`);
  return levels;
}
