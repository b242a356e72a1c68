import { X509Certificate } from 'node:crypto';
import { openssl } from './openssl.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const hashes: Readonly<Record<number, string>> = { 64: 'sha256', 96: 'sha384', 132: 'sha512' };

/** A code, taken apart without the product. */
export interface CodeParts {
  readonly zone: Buffer;
  /** r‖s. */
  readonly signature: Buffer;
  /** What follows the signature and a GS. */
  readonly annex: string | undefined;
}

export function partsOf(code: Uint8Array): CodeParts {
  const [zone = '', rest = ''] = Buffer.from(code).toString('latin1').split('\u001f');
  const [signature = '', ...annex] = rest.split('\u001d');
  return {
    ...{ zone: Buffer.from(zone, 'latin1'), signature: bytesOf(signature) },
    annex: annex.length === 0 ? undefined : annex.join('\u001d'),
  };
}

function bytesOf(base32: string): Buffer {
  const bits = Array.from(base32, (character) => alphabet.indexOf(character).toString(2).padStart(5, '0')).join('');
  const bytes = bits.match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
}

/** Has OpenSSL verify the signature of a code. `certificate`: PEM or DER. */
export function opensslVerifies({ zone, signature }: CodeParts, certificate: string | Buffer): boolean {
  const { publicKey } = new X509Certificate(certificate);
  const half = signature.length / 2;
  const [r, s] = [signature.subarray(0, half), signature.subarray(half)].map((number) => number.toString('hex'));
  const value = openssl(
    ['asn1parse', '-genconf', '{conf}', '-noout', '-out', 'value'],
    { conf: `asn1=SEQUENCE:sig\n[sig]\nr=INTEGER:0x${r ?? ''}\ns=INTEGER:0x${s ?? ''}\n` },
    'value',
  );
  const hash = hashes[signature.length];
  if (hash === undefined) throw new Error(`a signature has ${signature.length} bytes`);
  const files = { key: publicKey.export({ type: 'spki', format: 'pem' }), zone, value };
  try {
    return openssl(['dgst', `-${hash}`, '-verify', '{key}', '-signature', '{value}', '{zone}'], files).includes('Verified OK');
  } catch {
    return false;
  }
}
