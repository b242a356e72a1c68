import * as der from '../asn1/der.ts';
import { children, DerError, readAll, type DerElement } from '../asn1/reader.ts';
import { expectTag, SequenceFields } from '../asn1/sequence-fields.ts';
import { failureBits, type Failure, type RequestRejected } from './request.ts';

const tagOf = { integer: 0x02, bitString: 0x03, utf8: 0x0c, sequence: 0x30 } as const;
const status = { granted: 0, grantedWithMods: 1, rejection: 2 } as const;

/** Returns a TimeStampResp (RFC 3161 §2.4.2) with a token, which is a ContentInfo in DER. */
export function grantedResponse(token: Uint8Array): Uint8Array {
  return der.sequence(der.sequence(der.integer(status.granted)), token);
}

/** Returns a TimeStampResp that rejects a request, with a failure bit and a text. */
export function rejection({ failure, message }: Pick<RequestRejected, 'failure' | 'message'>): Uint8Array {
  const bit = failureBits[failure];
  const octets = new Uint8Array((bit >> 3) + 1);
  octets[bit >> 3] = 0x80 >> (bit & 7);
  // X.690 11.2.2: no trailing zero bits in a named bit list.
  const info = der.sequence(der.integer(status.rejection), der.sequence(der.utf8String(message)), der.bitString(octets, 7 - (bit & 7)));
  return der.sequence(info);
}

/** Response of an authority: a token, or the reason for a refusal. */
export type TimeStampResponse = { readonly token: Uint8Array } | { readonly refusal: string };

const statusNames = ['granted', 'grantedWithMods', 'rejection', 'waiting', 'revocationWarning', 'revocationNotification'];

/** @throws {DerError} for anything but a TimeStampResp */
export function readTimeStampResponse(bytes: Uint8Array): TimeStampResponse {
  const outer = new SequenceFields(expectTag(readAll(bytes), tagOf.sequence));
  const info = new SequenceFields(outer.next(tagOf.sequence));
  const [code = 255, ...more] = info.next(tagOf.integer).content;
  const text = info.tag === tagOf.sequence ? children(info.next()).map(freeText).join('; ') : '';
  const failure = info.tag === tagOf.bitString ? failureNames(info.next()) : [];
  info.end();
  const token = outer.tag === undefined ? undefined : outer.next(tagOf.sequence);
  outer.end();
  if (more.length > 0) throw new DerError('invalid PKIStatus', 0);
  if (code === status.granted || code === status.grantedWithMods) {
    if (token === undefined) throw new DerError('granted, but no token', 0);
    return { token: token.raw };
  }
  return { refusal: [statusNames[code] ?? `status ${code}`, ...failure, text].filter((part) => part !== '').join(': ') };
}

/** Returns text from an external server, shortened and without control characters. */
function freeText(element: DerElement): string {
  const text = Buffer.from(expectTag(element, tagOf.utf8).content).toString('utf8');
  return text.replaceAll(/\p{C}/gu, ' ').slice(0, 200);
}

function failureNames({ content }: DerElement): string[] {
  const isSet = (bit: number): boolean => ((content[1 + (bit >> 3)] ?? 0) & (0x80 >> (bit & 7))) !== 0;
  const names: readonly Failure[] = [
    'badAlg',
    'badRequest',
    'badDataFormat',
    'timeNotAvailable',
    'unacceptedPolicy',
    'unacceptedExtension',
    'addInfoNotAvailable',
    'systemFailure',
  ];
  return names.filter((name) => isSet(failureBits[name]));
}
