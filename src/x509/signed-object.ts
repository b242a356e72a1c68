import type { KeyObject } from 'node:crypto';
import { children, DerError, readAll, type DerElement } from '../asn1/reader.ts';
import { dataVerifies } from '../verification/verify-value.ts';
import { verificationRule } from './signature-identifier.ts';

/**
 * Whether a key signed a certificate (RFC 5280 §4.1.1). Names, validity and extensions are not
 * checked.
 */
export function certificateVerifies(certificate: Uint8Array, key: KeyObject): boolean {
  return verifies(certificate, key, ([toBeSigned, algorithm, , ...more]) => {
    // RFC 5280 §4.1.1.2: the outer algorithm must equal the signed one, which follows the version
    // and serial number.
    const fields = toBeSigned === undefined ? [] : children(toBeSigned);
    const inside = fields[fields[0]?.tag === 0xa0 ? 2 : 1];
    return more.length === 0 && inside !== undefined && algorithm !== undefined && Buffer.compare(inside.raw, algorithm.raw) === 0;
  });
}

/** Whether a key signed a BasicOCSPResponse (RFC 6960 §4.2.1), which certificates may follow. */
export function responseVerifies(basic: Uint8Array, key: KeyObject): boolean {
  return verifies(basic, key, ({ length }) => length <= 4);
}

/** Verifies what X.509 calls SIGNED: data, AlgorithmIdentifier, and the value as a BIT STRING. */
function verifies(signed: Uint8Array, key: KeyObject, isBuilt: (parts: readonly DerElement[]) => boolean): boolean {
  try {
    const parts = children(readAll(signed));
    const [toBeSigned, algorithm, value] = parts;
    if (toBeSigned === undefined || algorithm === undefined || value === undefined || !isBuilt(parts)) return false;
    const isWholeOctets = value.tag === 0x03 && value.content[0] === 0;
    return isWholeOctets && dataVerifies(key, verificationRule(algorithm), toBeSigned.raw, value.content.subarray(1));
  } catch (error) {
    // Without valid DER and a supported algorithm, no signature can be verified.
    if (error instanceof DerError) return false;
    throw error;
  }
}
