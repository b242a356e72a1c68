import * as der from '../asn1/der.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';
import { readImprint, type MessageImprint } from './request.ts';

/** id-ct-TSTInfo (RFC 3161 §2.4.2). */
export const tstInfoType = '1.2.840.113549.1.9.16.1.4';

/** Accuracy of a token's time (RFC 3161 §2.4.2). */
export interface Accuracy {
  readonly seconds: number;
  readonly milliseconds: number;
}

export interface TstInfo {
  readonly policy: string;
  readonly imprint: MessageImprint;
  /** Content octets of the INTEGER. */
  readonly serialNumber: Uint8Array;
  /** With a resolution of one millisecond. */
  readonly time: Date;
  readonly accuracy: Accuracy | undefined;
  readonly ordering: boolean;
  /** Content octets of the INTEGER. */
  readonly nonce: Uint8Array | undefined;
  /** GeneralName in DER. */
  readonly authority: Uint8Array | undefined;
}

export interface TstInfoParts extends Omit<TstInfo, 'imprint' | 'authority'> {
  /** DER of the MessageImprint of the request. */
  readonly imprintDer: Uint8Array;
  /** DER of the authority's name. */
  readonly authorityName: Uint8Array;
}

const tagOf = {
  boolean: 0x01,
  integer: 0x02,
  generalizedTime: 0x18,
  sequence: 0x30,
  accuracyMillis: 0x80,
  accuracyMicros: 0x81,
  authority: 0xa0,
  extensions: 0xa1,
} as const;

/** Returns a TSTInfo in DER (RFC 3161 §2.4.2). */
export function tstInfoDer({ policy, imprintDer, serialNumber, time, accuracy, ordering, nonce, authorityName }: TstInfoParts): Uint8Array {
  return der.sequence(
    der.integer(1),
    der.oid(policy),
    imprintDer,
    der.tagged(tagOf.integer, serialNumber),
    der.tagged(tagOf.generalizedTime, Buffer.from(timeText(time), 'latin1')),
    ...(accuracy === undefined ? [] : [accuracyDer(accuracy)]),
    ...(ordering ? [der.boolean(true)] : []),
    ...(nonce === undefined ? [] : [der.tagged(tagOf.integer, nonce)]),
    der.explicit(0, der.explicit(4, authorityName)),
  );
}

/**
 * Returns a GeneralizedTime as DER requires: no trailing zeros in the fraction, and no zero
 * fraction (X.690 11.7).
 */
function timeText(time: Date): string {
  const [whole = '', fraction = ''] = time
    .toISOString()
    .replaceAll(/[-:TZ]/g, '')
    .split('.');
  const digits = fraction.replace(/0+$/, '');
  return `${whole}${digits === '' ? '' : `.${digits}`}Z`;
}

function accuracyDer({ seconds, milliseconds }: Accuracy): Uint8Array {
  const millis = milliseconds === 0 ? [] : [der.implicitPrimitive(0, readAll(der.integer(milliseconds)).content)];
  return der.sequence(...(seconds === 0 ? [] : [der.integer(seconds)]), ...millis);
}

/** @throws {DerError}; {RequestRejected} for an imprint with an unknown hash */
export function readTstInfo(bytes: Uint8Array): TstInfo {
  const fields = new SequenceFields(expectTag(readAll(bytes), tagOf.sequence));
  const version = fields.next(tagOf.integer);
  if (version.content.length !== 1 || version.content[0] !== 1) throw new DerError('the version of TSTInfo is not 1', 0);
  const policy = readObjectIdentifier(fields.next());
  const imprint = readImprint(fields.next(tagOf.sequence));
  const serialNumber = fields.next(tagOf.integer).content;
  const time = readTimeWithFraction(fields.next(tagOf.generalizedTime));
  const accuracy = fields.tag === tagOf.sequence ? readAccuracy(fields.next()) : undefined;
  const ordering = fields.tag === tagOf.boolean && fields.next().content[0] !== 0;
  const nonce = fields.tag === tagOf.integer ? fields.next().content : undefined;
  const authority = fields.tag === tagOf.authority ? children(fields.next())[0]?.raw : undefined;
  if (fields.tag === tagOf.extensions) fields.next();
  fields.end();
  return { policy, imprint, serialNumber, time, accuracy, ordering, nonce, authority };
}

function readTimeWithFraction({ content, start }: DerElement): Date {
  const found = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d{1,9}))?Z$/.exec(Buffer.from(content).toString('latin1'));
  if (found === null) throw new DerError('not a time in the form of RFC 3161', start);
  const [, year, month, day, hours, minutes, seconds, fraction = ''] = found;
  const text = `${year}-${month}-${day}T${hours}:${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()) || time.toISOString() !== text) throw new DerError('nonexistent time', start);
  return time;
}

function readAccuracy(element: DerElement): Accuracy {
  const parts = new Map(children(element).map((part) => [part.tag, numberOf(part)]));
  const micros = parts.get(tagOf.accuracyMicros) ?? 0;
  return { seconds: parts.get(tagOf.integer) ?? 0, milliseconds: (parts.get(tagOf.accuracyMillis) ?? 0) + (micros === 0 ? 0 : 1) };
}

function numberOf({ content, start }: DerElement): number {
  if (content.length === 0 || content.length > 4 || (content[0] ?? 0) >= 0x80) throw new DerError('invalid number in an accuracy', start);
  return content.reduce((sum, octet) => sum * 256 + octet, 0);
}
