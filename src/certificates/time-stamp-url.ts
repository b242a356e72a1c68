import { oids } from '../asn1/object-identifiers.ts';
import { children, DerError, readAll } from '../asn1/reader.ts';
import { expectTag } from '../asn1/sequence-fields.ts';
import type { Certificate } from '../x509/certificate.ts';

const tagOf = { integer: 0x02, sequence: 0x30, uri: 0x86 } as const;

/**
 * Returns the URL of the time-stamp authority named by a certificate in the extension
 * 1.2.840.113583.1.1.9.1 (Adobe: SEQUENCE of a version, a GeneralName and whether it requires
 * credentials). Undefined if there is no readable one.
 */
export function timeStampUrlOf({ extensions }: Pick<Certificate, 'extensions'>): string | undefined {
  const value = extensions.get(oids.timeStampAddress)?.value;
  if (value === undefined) return undefined;
  try {
    const [version, location] = children(expectTag(readAll(value), tagOf.sequence));
    if (version?.tag !== tagOf.integer || location?.tag !== tagOf.uri) return undefined;
    return Buffer.from(location.content).toString('latin1');
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}
