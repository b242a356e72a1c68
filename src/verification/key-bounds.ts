import { oids } from '../asn1/object-identifiers.ts';
import { children, DerError, readAll, readObjectIdentifier, type DerElement } from '../asn1/reader.ts';

/**
 * Limits on keys, most of which come from strangers: beyond them one verification takes long, and
 * no real key is there. RSA exponents are 65537, or below 2^32 (CA/Browser Forum recommends
 * 65537 to 2^256, which nobody uses); FIPS 186-4 §4.2 ends at 3072 bits.
 */
const limits = { modulusBits: 8192, exponentBits: 32, dsaBits: 3072, dsaOrderBits: 256 } as const;

/** Curves over prime fields of at least 224 bits (RFC 5480 §2.1.1.1, RFC 5639 §4.1, SEC 2 §2). */
const curves: ReadonlySet<string> = new Set([
  '1.2.840.10045.3.1.7', // P-256
  '1.3.132.0.34', // P-384
  '1.3.132.0.35', // P-521
  '1.3.132.0.33', // P-224
  '1.3.132.0.10', // secp256k1
  ...[5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map((curve) => `1.3.36.3.3.2.8.1.1.${curve}`), // brainpoolP224r1 to P512t1
]);

const messageKeys: ReadonlySet<string> = new Set([oids.ed25519, oids.ed448]);
const dsa = '1.2.840.10040.4.1';
const tagOf = { integer: 0x02, bitString: 0x03, nothing: 0x05, oid: 0x06, sequence: 0x30 } as const;

/**
 * Returns what is wrong with the key of a SubjectPublicKeyInfo, as the end of a sentence: another
 * structure than its algorithm has (RFC 3279 §2.3, RFC 5480 §2.1, RFC 8017 §A.1.1), numbers beyond
 * the limits, or an unknown algorithm or curve. Undefined if nothing is. Reads DER alone, so that
 * what is refused costs nothing.
 */
export function keyFault(subjectPublicKeyInfo: Uint8Array): string | undefined {
  try {
    const [algorithm, key, ...more] = children(sequence(readAll(subjectPublicKeyInfo)));
    const [type, parameters, ...others] = algorithm === undefined ? [] : children(sequence(algorithm));
    if (type === undefined || key?.tag !== tagOf.bitString || key.content[0] !== 0 || more.length > 0 || others.length > 0) return misbuilt;
    const oid = readObjectIdentifier(type);
    const octets = key.content.subarray(1);
    if (oid === oids.rsaEncryption) return isNothing(parameters) ? rsaFault(octets) : misbuilt;
    if (oid === oids.rsassaPss) return rsaFault(octets);
    if (oid === oids.ecPublicKey) return curveFault(parameters);
    if (oid === dsa) return dsaFault(parameters, octets);
    return messageKeys.has(oid) ? undefined : 'is of an algorithm that this service does not know';
  } catch (error) {
    if (error instanceof DerError) return misbuilt;
    throw error;
  }
}

const misbuilt = 'is not built as its algorithm demands';

function rsaFault(octets: Uint8Array): string | undefined {
  const [modulus, exponent, ...more] = children(sequence(readAll(octets)));
  const modulusBits = bitsOf(modulus);
  const exponentBits = bitsOf(exponent);
  if (modulusBits === undefined || exponentBits === undefined || more.length > 0) return misbuilt;
  if (modulusBits > limits.modulusBits) return `is an RSA key of ${modulusBits} bits, more than ${limits.modulusBits}`;
  if (exponentBits > limits.exponentBits)
    return `is an RSA key with a public exponent of ${exponentBits} bits, more than ${limits.exponentBits}`;
  return exponentBits < 2 || !isOdd(modulus) || !isOdd(exponent)
    ? 'is an RSA key with an even modulus, or an exponent that is even or one'
    : undefined;
}

/** Only curves that are named: an attacker chooses the numbers of any other. */
function curveFault(parameters: DerElement | undefined): string | undefined {
  if (parameters?.tag !== tagOf.oid) return 'is on a curve that it does not name';
  return curves.has(readObjectIdentifier(parameters)) ? undefined : 'is on a curve that this service does not know';
}

/** Parameters that are absent, to be inherited from the issuer, make a key that verifies nothing. */
function dsaFault(parameters: DerElement | undefined, octets: Uint8Array): string | undefined {
  if (isNothing(parameters)) return undefined;
  const [prime, order, base, ...more] = parameters === undefined ? [] : children(sequence(parameters));
  const [primeBits, orderBits, baseBits, ownBits] = [prime, order, base, readAll(octets)].map(bitsOf);
  if (primeBits === undefined || orderBits === undefined || more.length > 0) return misbuilt;
  const longest = Math.max(primeBits, baseBits ?? Infinity, ownBits ?? Infinity);
  return longest > limits.dsaBits || orderBits > limits.dsaOrderBits ? `is a DSA key of more than ${limits.dsaBits} bits` : undefined;
}

/** Returns the bits of a positive INTEGER in its shortest form; undefined for anything else. */
function bitsOf(element: DerElement | undefined): number | undefined {
  const [first, second] = element?.content ?? [];
  if (element?.tag !== tagOf.integer || first === undefined || first >= 0x80) return undefined;
  if (first !== 0) return 8 * (element.content.length - 1) + (32 - Math.clz32(first));
  return second === undefined || second < 0x80 ? undefined : 8 * (element.content.length - 1);
}

function isOdd(element: DerElement | undefined): boolean {
  return ((element?.content.at(-1) ?? 0) & 1) === 1;
}

function isNothing(parameters: DerElement | undefined): boolean {
  return parameters === undefined || (parameters.tag === tagOf.nothing && parameters.content.length === 0);
}

function sequence(element: DerElement): DerElement {
  if (element.tag !== tagOf.sequence) throw new DerError('not a SEQUENCE', element.start);
  return element;
}
