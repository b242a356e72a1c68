import * as der from '../asn1/der.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';

/**
 * Hashes of message imprints, with OID and length. SHA-1 is recognised so that messages can name
 * it.
 */
export const imprintHashes = {
  sha1: { oid: '1.3.14.3.2.26', bytes: 20 },
  sha256: { oid: '2.16.840.1.101.3.4.2.1', bytes: 32 },
  sha384: { oid: '2.16.840.1.101.3.4.2.2', bytes: 48 },
  sha512: { oid: '2.16.840.1.101.3.4.2.3', bytes: 64 },
} as const;
export type ImprintHash = keyof typeof imprintHashes;

/** Message imprint: the data to be time-stamped (RFC 3161 §2.4.1). */
export interface MessageImprint {
  readonly hash: ImprintHash;
  readonly value: Uint8Array;
}

/** Bits of PKIFailureInfo (RFC 3161 §2.4.2). */
export const failureBits = {
  badAlg: 0,
  badRequest: 2,
  badDataFormat: 5,
  timeNotAvailable: 14,
  unacceptedPolicy: 15,
  unacceptedExtension: 16,
  addInfoNotAvailable: 17,
  systemFailure: 25,
} as const;
export type Failure = keyof typeof failureBits;

/** Thrown for a request to be rejected. The message is for the client. */
export class RequestRejected extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, message: string) {
    super(message);
    this.failure = failure;
  }
}

/** TimeStampReq (RFC 3161 §2.4.1). */
export interface TimeStampRequest {
  /** DER of the MessageImprint, which the token repeats unchanged. */
  readonly imprintDer: Uint8Array;
  readonly imprint: MessageImprint;
  /** Dotted text. */
  readonly policy: string | undefined;
  /** Content octets of the INTEGER. */
  readonly nonce: Uint8Array | undefined;
  readonly certificateWanted: boolean;
}

const tagOf = { boolean: 0x01, integer: 0x02, octetString: 0x04, oid: 0x06, sequence: 0x30, extensions: 0xa0 } as const;
/** Maximum size of a request; a usual one has less than 200 octets. */
export const timeStampRequestMaxBytes = 8192;
/** Clients send 8 to 20 octets. */
const nonceMaxBytes = 64;

/** @throws {RequestRejected} with the failure code of RFC 3161 §2.4.2 */
export function readTimeStampRequest(bytes: Uint8Array): TimeStampRequest {
  try {
    return read(bytes);
  } catch (error) {
    if (error instanceof DerError) throw new RequestRejected('badDataFormat', `not a TimeStampReq: ${error.message}`);
    throw error;
  }
}

function read(bytes: Uint8Array): TimeStampRequest {
  const fields = new SequenceFields(expectTag(readAll(bytes), tagOf.sequence));
  const version = fields.next(tagOf.integer).content;
  if (version.length !== 1 || version[0] !== 1) throw new RequestRejected('badRequest', 'the version is not 1');
  const imprint = fields.next(tagOf.sequence);
  const policy = fields.tag === tagOf.oid ? readObjectIdentifier(fields.next()) : undefined;
  const nonce = fields.tag === tagOf.integer ? readNonce(fields.next()) : undefined;
  const certificateWanted = fields.tag === tagOf.boolean && readBoolean(fields.next());
  if (fields.tag === tagOf.extensions) throw new RequestRejected('unacceptedExtension', 'extensions are not supported');
  fields.end();
  return { imprintDer: imprint.raw, imprint: readImprint(imprint), policy, nonce, certificateWanted };
}

function readNonce({ content }: DerElement): Uint8Array {
  if (content.length === 0 || content.length > nonceMaxBytes)
    throw new RequestRejected('badRequest', `the nonce must have 1 to ${nonceMaxBytes} octets`);
  return content;
}

function readBoolean({ content, start }: DerElement): boolean {
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) throw new DerError('not a BOOLEAN', start);
  return content[0] !== 0;
}

/** @throws {RequestRejected} for an unknown hash, or a value of the wrong length; {DerError} */
export function readImprint(element: DerElement): MessageImprint {
  const fields = new SequenceFields(expectTag(element, tagOf.sequence));
  const [oid, parameters, ...more] = children(fields.next(tagOf.sequence));
  const value = fields.next(tagOf.octetString).content;
  fields.end();
  const hash = oid === undefined ? undefined : hashOf(readObjectIdentifier(oid));
  const isPlain = parameters === undefined || (parameters.tag === 0x05 && parameters.content.length === 0);
  if (hash === undefined || more.length > 0 || !isPlain)
    throw new RequestRejected('badAlg', 'unsupported hash in the message imprint; supported: SHA-256, SHA-384, SHA-512');
  if (value.length !== imprintHashes[hash].bytes)
    throw new RequestRejected('badDataFormat', `a message imprint with ${hash} must have ${imprintHashes[hash].bytes} octets`);
  return { hash, value };
}

function hashOf(oid: string): ImprintHash | undefined {
  for (const hash of ['sha1', 'sha256', 'sha384', 'sha512'] as const) if (imprintHashes[hash].oid === oid) return hash;
  return undefined;
}

/** Returns a MessageImprint in DER, without parameters (RFC 5754 §2). */
export function imprintDer({ hash, value }: MessageImprint): Uint8Array {
  return der.sequence(der.sequence(der.oid(imprintHashes[hash].oid)), der.octetString(value));
}

/**
 * Returns a TimeStampReq that requests the authority's certificate. `nonce`: octets of an unsigned
 * number.
 */
export function timeStampRequest(
  imprint: MessageImprint,
  { policy, nonce }: { readonly policy?: string | undefined; readonly nonce?: Uint8Array | undefined },
): Uint8Array {
  return der.sequence(
    der.integer(1),
    imprintDer(imprint),
    ...(policy === undefined ? [] : [der.oid(policy)]),
    ...(nonce === undefined ? [] : [der.integer(nonce)]),
    der.boolean(true),
  );
}
