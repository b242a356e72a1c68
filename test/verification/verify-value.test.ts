import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, createHash, generateKeyPairSync, sign, verify, type KeyObject } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dataVerifies, valueVerifies } from '../../src/verification/verify-value.ts';
import type { SignatureAlgorithm } from '../../src/token/signature-algorithm.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const oddRsa = generateKeyPairSync('rsa', { modulusLength: 2049 });
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' });

interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const pss = (hash: 'sha256' | 'sha384' | 'sha512', saltBytes: number): SignatureAlgorithm => ({
  scheme: 'RSA_PSS',
  hash,
  mgfHash: hash,
  saltBytes,
});
const cases: readonly [string, Pair, SignatureAlgorithm][] = [
  ['RSA PKCS #1 with SHA-256', rsa, { scheme: 'RSA_PKCS1', hash: 'sha256' }],
  ['RSA PKCS #1 with SHA-512', rsa, { scheme: 'RSA_PKCS1', hash: 'sha512' }],
  ['PSS with a salt as long as the hash', rsa, pss('sha256', 32)],
  ['PSS without salt', rsa, pss('sha384', 0)],
  ['PSS with the longest salt', rsa, pss('sha512', 256 - 64 - 2)],
  ['PSS with a modulus of 2049 bits', oddRsa, pss('sha256', 20)],
  ['P-256 with SHA-512', p256, { scheme: 'ECDSA', hash: 'sha512' }],
  ['P-384 with SHA-384', p384, { scheme: 'ECDSA', hash: 'sha384' }],
  ['P-521 with SHA-256', p521, { scheme: 'ECDSA', hash: 'sha256' }],
];

function signed({ privateKey }: Pair, algorithm: SignatureAlgorithm, data: Buffer): Buffer {
  const key =
    algorithm.scheme === 'RSA_PSS'
      ? { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: algorithm.saltBytes }
      : privateKey;
  return sign(algorithm.hash, data, key);
}

describe('verification of a signature value', () => {
  it.each(cases)('of %s holds over the data and over its digest, and over nothing else', (_name, pair, algorithm) => {
    const data = Buffer.from('document');
    const value = signed(pair, algorithm, data);
    const digest = createHash(algorithm.hash).update(data).digest();
    const other = createHash(algorithm.hash).update('other').digest();
    expect(dataVerifies(pair.publicKey, algorithm, data, value)).toBe(true);
    expect(valueVerifies(pair.publicKey, algorithm, digest, value)).toBe(true);
    expect(dataVerifies(pair.publicKey, algorithm, Buffer.from('other'), value)).toBe(false);
    expect(valueVerifies(pair.publicKey, algorithm, other, value)).toBe(false);
    expect(valueVerifies(pair.publicKey, algorithm, digest.subarray(1), value)).toBe(false);
  });

  it.each(cases)('of %s fails for any changed bit, without throwing', (_name, pair, algorithm) => {
    const data = Buffer.from('document');
    const value = signed(pair, algorithm, data);
    const digest = createHash(algorithm.hash).update(data).digest();
    fc.assert(
      fc.property(fc.nat(value.length * 8 - 1), (bit) => {
        const changed = Buffer.from(value);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        return !valueVerifies(pair.publicKey, algorithm, digest, changed);
      }),
      { numRuns: 20 },
    );
  });

  it.each(cases)(
    'of %s is what Node says of it over the data, whatever octets are changed, cut off or put in',
    (_name, pair, algorithm) => {
      const data = Buffer.from('document');
      const value = signed(pair, algorithm, data);
      const digest = createHash(algorithm.hash).update(data).digest();
      const change = fc.record({ at: fc.nat(value.length), cut: fc.nat(2), put: fc.uint8Array({ maxLength: 3 }) });
      fc.assert(
        fc.property(fc.array(change, { maxLength: 3 }), (changes) => {
          const changed = changes.reduce(
            (bytes, { at, cut, put }) => Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)]),
            value,
          );
          return valueVerifies(pair.publicKey, algorithm, digest, changed) === nodeVerifies(pair.publicKey, algorithm, data, changed);
        }),
        { numRuns: 60 },
      );
    },
  );

  it('fails for PSS if leading zeros of the value are left out', () => {
    const algorithm = pss('sha256', 32);
    // One value of 256 begins with zero.
    for (let count = 0; ; count += 1) {
      const data = Buffer.from(`document ${count}`);
      const value = signed(rsa, algorithm, data);
      if (value[0] !== 0) continue;
      expect(dataVerifies(rsa.publicKey, algorithm, data, value)).toBe(true);
      expect(dataVerifies(rsa.publicKey, algorithm, data, value.subarray(1))).toBe(false);
      expect(dataVerifies(rsa.publicKey, algorithm, data, Buffer.concat([Buffer.of(0), value]))).toBe(false);
      return;
    }
  });

  it('fails for PSS with another salt length or MGF1 hash than was asked for', () => {
    const digest = createHash('sha256').update('document').digest();
    const value = signed(rsa, pss('sha256', 20), Buffer.from('document'));
    expect(valueVerifies(rsa.publicKey, pss('sha256', 32), digest, value)).toBe(false);
    expect(valueVerifies(rsa.publicKey, { scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha512', saltBytes: 20 }, digest, value)).toBe(
      false,
    );
  });

  it('of PSS whose MGF1 has another hash than the digest is that of OpenSSL', () => {
    const data = Buffer.from('document');
    const value = opensslPss(data, ['-sigopt', 'rsa_mgf1_md:sha512', '-sigopt', 'rsa_pss_saltlen:20']);
    const algorithm: SignatureAlgorithm = { scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha512', saltBytes: 20 };
    const digest = createHash('sha256').update(data).digest();
    expect(valueVerifies(rsa.publicKey, algorithm, digest, value)).toBe(true);
    expect(valueVerifies(rsa.publicKey, { ...algorithm, mgfHash: 'sha256' }, digest, value)).toBe(false);
  });
});

/** By Node, which has one hash for both places of PSS, and takes values of PSS without their leading zeros. */
function nodeVerifies(key: KeyObject, algorithm: SignatureAlgorithm, data: Buffer, value: Uint8Array): boolean {
  const padding = algorithm.scheme === 'RSA_PSS' ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: algorithm.saltBytes } : {};
  const bytes = Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8);
  if (bytes > 0 && value.length !== bytes) return false;
  return verify(algorithm.hash, data, { key, ...padding }, value);
}

/** Node has one hash for both places of PSS. */
function opensslPss(data: Buffer, options: readonly string[]): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-pss-'));
  try {
    const key = join(directory, 'key.pem');
    writeFileSync(key, rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    return execFileSync('openssl', ['dgst', '-sha256', '-sign', key, '-sigopt', 'rsa_padding_mode:pss', ...options], { input: data });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
