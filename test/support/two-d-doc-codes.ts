import { openssl } from './openssl.ts';

/** The parts of a code of version 02 or later, as the tests take it apart: not by the product. */
export interface CodeParts {
  readonly zone: Buffer;
  /** Base32. */
  readonly signatureText: string;
  /** r‖s. */
  readonly signature: Buffer;
  /** What follows the signature and a GS. */
  readonly annex: string | undefined;
}

/** Takes a code apart (ANTS v3.2.6 §3.5). */
export function partsOf(code: Uint8Array): CodeParts {
  const text = Buffer.from(code).toString('latin1');
  const [zone = '', ...rest] = text.split('\u001f');
  if (rest.length !== 1) throw new Error(`${rest.length} US in the code`);
  const [signatureText = '', ...annex] = (rest[0] ?? '').split('\u001d');
  return {
    zone: Buffer.from(zone, 'latin1'),
    signatureText,
    signature: base32Decoded(signatureText),
    annex: annex.length === 0 ? undefined : annex.join('\u001d'),
  };
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32Decoded(text: string): Buffer {
  const bits = Array.from(text, (character) => alphabet.indexOf(character).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** The hash of each curve, by the length of a coordinate. */
const hashes: Readonly<Record<number, string>> = { 32: 'sha256', 48: 'sha384', 66: 'sha512' };

/** Whether OpenSSL verifies the signature (r‖s) of a zone with a public key (PEM). The length decides the hash. */
export function opensslVerifies({ zone, signature }: Pick<CodeParts, 'zone' | 'signature'>, publicKey: string): boolean {
  const half = signature.length / 2;
  const value = tagged(0x30, Buffer.concat([integer(signature.subarray(0, half)), integer(signature.subarray(half))]));
  const hash = hashes[half];
  if (hash === undefined) throw new Error(`a signature of ${signature.length} bytes`);
  try {
    const said = openssl(['dgst', `-${hash}`, '-verify', '{key}', '-signature', '{value}', '{zone}'], { key: publicKey, value, zone });
    return said.includes('Verified OK');
  } catch (error) {
    if (String(error).includes('Verification failure') || (error instanceof Error && 'status' in error && error.status === 1)) return false;
    throw error;
  }
}

function integer(bytes: Uint8Array): Buffer {
  const digits = BigInt(`0x${Buffer.from(bytes).toString('hex')}`).toString(16);
  const even = digits.padStart(digits.length + (digits.length % 2), '0');
  return tagged(0x02, Buffer.from(/^[89a-f]/.test(even) ? `00${even}` : even, 'hex'));
}

function tagged(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(content.length < 128 ? [tag, content.length] : [tag, 0x81, content.length]), content]);
}

/** The public key (PEM) of a certificate: PEM text, or DER. */
export function publicKeyOf(certificate: string | Uint8Array): string {
  const form = typeof certificate === 'string' ? 'PEM' : 'DER';
  return openssl(['x509', '-inform', form, '-in', '{certificate}', '-pubkey', '-noout'], { certificate });
}
