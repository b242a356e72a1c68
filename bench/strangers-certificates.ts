/** Certificates of no authority, whose keys take as long to verify with as their sizes allow. */
import { createHash, generateKeyPairSync, generatePrimeSync, randomBytes } from 'node:crypto';
import { bitString, boolean, explicit, integer, nullValue, octetString, oid, sequence, set, time, utf8String } from '../src/asn1/der.ts';

const primeBits = 1024;
const dayMs = 86_400_000;
/** RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §A.2.4), and its DigestInfo up to the digest (§9.2). */
const algorithm = sequence(oid('1.2.840.113549.1.1.11'), nullValue());
const digestInfo = Buffer.from('3031300d060960864801650304020105000420', 'hex');

export interface StrangersChain {
  /** Base64 of DER. */
  readonly signerCertificate: string;
  readonly certificateChain: readonly string[];
}

/** An RSA key, whose modulus has many primes unless nobody knows them: then it signs nothing. */
interface RsaKey {
  readonly modulus: bigint;
  readonly exponent: bigint;
  readonly primes: readonly bigint[];
}

/**
 * Returns a signer's certificate and 16 possible issuers of one name. Four of them have signed each
 * other and the signer, and the others nothing, so that a path is sought in vain through all.
 */
export function strangersChain(keyBits: number, exponentBits: number): StrangersChain {
  const exponent = generatePrimeSync(exponentBits, { bigint: true });
  const signers = Array.from({ length: 4 }, () => manyPrimesKey(keyBits, exponent));
  const others = Array.from({ length: 12 }, () => ({ modulus: oddNumber(keyBits), exponent, primes: [] }));
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [first] = signers;
  if (first === undefined) throw new Error('there are four signers');
  return {
    signerCertificate: certificate('signer', publicKey.export({ format: 'der', type: 'spki' }), first),
    certificateChain: [
      ...others.map((key) => certificate('X', publicKeyInfo(key), key)),
      ...signers.map((key, index) => certificate('X', publicKeyInfo(key), signers[(index + 1) % signers.length] ?? key)),
    ],
  };
}

function manyPrimesKey(keyBits: number, exponent: bigint): RsaKey {
  const primes: bigint[] = [];
  while (primes.length < keyBits / primeBits) {
    const prime = generatePrimeSync(primeBits, { bigint: true });
    if ((prime - 1n) % exponent !== 0n && !primes.includes(prime)) primes.push(prime);
  }
  return { modulus: primes.reduce((product, prime) => product * prime, 1n), exponent, primes };
}

function oddNumber(bits: number): bigint {
  const bytes = randomBytes(bits / 8);
  bytes[0] = (bytes[0] ?? 0) | 0x80;
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
  return BigInt(`0x${bytes.toString('hex')}`);
}

function publicKeyInfo({ modulus, exponent }: RsaKey): Uint8Array {
  return sequence(sequence(oid('1.2.840.113549.1.1.1'), nullValue()), bitString(sequence(integer(modulus), integer(exponent))));
}

/** A certificate under the issuer `CN=X`, base64. */
function certificate(subject: string, key: Uint8Array, issuer: RsaKey): string {
  const now = Date.now();
  const isAuthority = subject === 'X';
  const usage = isAuthority ? Buffer.of(0x03, 0x02, 0x02, 0x04) : Buffer.of(0x03, 0x02, 0x07, 0x80);
  const extensions = sequence(
    sequence(oid('2.5.29.19'), boolean(true), octetString(isAuthority ? sequence(boolean(true)) : sequence())),
    sequence(oid('2.5.29.15'), boolean(true), octetString(usage)),
  );
  const toBeSigned = sequence(
    ...[explicit(0, integer(2)), integer(BigInt(`0x01${randomBytes(8).toString('hex')}`)), algorithm, name('X')],
    ...[sequence(time(new Date(now - dayMs)), time(new Date(now + dayMs))), name(subject), key, explicit(3, extensions)],
  );
  return Buffer.from(sequence(toBeSigned, algorithm, bitString(signature(toBeSigned, issuer)))).toString('base64');
}

function name(commonName: string): Uint8Array {
  return sequence(set(sequence(oid('2.5.4.3'), utf8String(commonName))));
}

/** By the Chinese remainder theorem (RFC 8017 §5.2.1); without the primes, a number. */
function signature(message: Uint8Array, { modulus, exponent, primes }: RsaKey): Buffer {
  const bytes = modulus.toString(16).length / 2;
  const digest = createHash('sha256').update(message).digest();
  const padding = Buffer.alloc(bytes - 3 - digestInfo.length - digest.length, 0xff);
  const encoded = BigInt(`0x${Buffer.concat([Buffer.of(0, 1), padding, Buffer.of(0), digestInfo, digest]).toString('hex')}`);
  let value = 0n;
  for (const prime of primes) {
    const rest = modulus / prime;
    const part = power(encoded % prime, inverse(exponent, prime - 1n), prime);
    value = (value + part * rest * inverse(rest % prime, prime)) % modulus;
  }
  return Buffer.from((primes.length === 0 ? encoded : value).toString(16).padStart(2 * bytes, '0'), 'hex');
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus;
    if (bit === '1') result = (result * base) % modulus;
  }
  return result;
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [rest, next, coefficient, nextCoefficient] = [modulus, value % modulus, 0n, 1n];
  while (next !== 0n) {
    const quotient = rest / next;
    [rest, next] = [next, rest - quotient * next];
    [coefficient, nextCoefficient] = [nextCoefficient, coefficient - quotient * nextCoefficient];
  }
  return ((coefficient % modulus) + modulus) % modulus;
}
