import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey, generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { hashNumbers, native, schemeNumbers, type NativeKey } from '../../src/verification/native.ts';
import { openssl } from '../support/openssl.ts';
import { rsaPublicKey } from '../support/forged-values.ts';

const file = fileURLToPath(new URL('../../dist/verify-value.node', import.meta.url));
type Call = (...parameters: readonly unknown[]) => unknown;
/** The functions as anybody may call them. */
const untyped = createRequire(import.meta.url)(file) as {
  readonly readKey: Call;
  readonly verifyDigest: Call;
  readonly verifyMessage: Call;
};

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const encoded = publicKey.export({ type: 'spki', format: 'der' });
const message = Buffer.from('a message');
const digest = createHash('sha256').update(message).digest();
const value = sign('sha256', message, privateKey);
const read = (spki: Uint8Array): NativeKey => {
  const key = native().readKey(spki);
  if (key === undefined) throw new Error('no key');
  return key;
};
const right = (key: NativeKey): boolean =>
  native().verifyDigest(key, schemeNumbers.ECDSA, hashNumbers.sha256, hashNumbers.sha256, 0, digest, value);

describe('the native module', () => {
  it('reads a key and refuses bytes after it', () => {
    expect(right(read(encoded))).toBe(true);
    for (const bad of [
      Buffer.concat([encoded, Buffer.of(0)]),
      encoded.subarray(0, -1),
      encoded.subarray(1),
      Buffer.alloc(0),
      Buffer.alloc(100),
    ]) {
      expect(native().readKey(bad)).toBeUndefined();
    }
    const offCurve = Buffer.from(encoded);
    offCurve[offCurve.length - 1] = (offCurve.at(-1) ?? 0) ^ 1;
    expect(native().readKey(offCurve)).toBeUndefined();
  });

  it('reads no RSA key of more than 8192 bits, or whose exponent is even or longer than 32 bits', () => {
    const isRead = (exponent: bigint, bytes = 256): boolean =>
      native().readKey(rsaPublicKey(Buffer.alloc(bytes, 0xc5), exponent)) !== undefined;
    expect([3n, 17n, 65_537n, 2n ** 32n - 1n].map((exponent) => isRead(exponent))).toEqual([true, true, true, true]);
    expect([2n, 65_538n, 2n ** 32n + 1n, 2n ** 64n - 1n, 2n ** 2000n + 1n].map((exponent) => isRead(exponent))).not.toContain(true);
    expect([isRead(65_537n, 1024), isRead(65_537n, 1025), isRead(65_537n, 2048)]).toEqual([true, false, false]);
  });

  it('throws for arguments of a wrong type or range, and for too few', () => {
    const key = read(encoded);
    const good: readonly unknown[] = [key, schemeNumbers.ECDSA, hashNumbers.sha256, hashNumbers.sha256, 0, digest, value];
    const others: readonly unknown[] = [
      undefined,
      null,
      'text',
      {},
      [],
      1n,
      Symbol('s'),
      new Uint16Array(32),
      new DataView(new ArrayBuffer(8)),
      new ArrayBuffer(32),
      () => 0,
    ];
    expect(untyped.verifyDigest(...good)).toBe(true);
    for (const [index] of good.entries()) {
      expect(() => untyped.verifyDigest(...good.slice(0, index))).toThrow(TypeError);
      for (const other of others) expect(() => untyped.verifyDigest(...good.with(index, other))).toThrow(TypeError);
    }
    for (const [index, number] of [
      [1, 4],
      [1, -1],
      [2, 5],
      [3, 5],
      [4, 65_536],
      [4, -1],
    ] as const) {
      expect(() => untyped.verifyDigest(...good.with(index, number))).toThrow(TypeError);
    }
    for (const other of [...others, 5, digest]) {
      expect(() => untyped.verifyMessage(other, message, value)).toThrow(TypeError);
      if (other === digest) continue;
      expect(() => untyped.readKey(other)).toThrow(TypeError);
      expect(() => untyped.verifyMessage(key, other, value)).toThrow(TypeError);
      expect(() => untyped.verifyMessage(key, message, other)).toThrow(TypeError);
    }
    expect(() => untyped.readKey()).toThrow(TypeError);
  });

  it('accepts only its own objects as keys', () => {
    for (const other of [Object.create(null), Object.create(read(encoded)), publicKey, new X509Certificate(certificatePem())]) {
      expect(() => untyped.verifyMessage(other, message, value)).toThrow(TypeError);
    }
  });

  it('treats empty and detached memory as zero octets', () => {
    const key = read(encoded);
    const detached = new Uint8Array(32);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    for (const nothing of [new Uint8Array(), detached, Buffer.alloc(0)]) {
      expect(untyped.verifyDigest(key, 2, 2, 2, 0, digest, nothing)).toBe(false);
      expect(untyped.verifyDigest(key, 2, 2, 2, 0, nothing, value)).toBe(false);
      expect(untyped.readKey(nothing)).toBeUndefined();
    }
  });

  it('is false for every scheme that is not of the key, whatever the digest', () => {
    const keys = [
      generateKeyPairSync('rsa', { modulusLength: 2048 }),
      generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
      generateKeyPairSync('dsa', { modulusLength: 2048, divisorLength: 256 }),
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('ed448'),
      generateKeyPairSync('x25519'),
      { publicKey },
    ].map((pair) => read(pair.publicKey.export({ type: 'spki', format: 'der' })));
    for (const key of keys) {
      for (const scheme of Object.values(schemeNumbers)) {
        for (const hash of Object.values(hashNumbers)) {
          expect(native().verifyDigest(key, scheme, hash, hash, 32, Buffer.alloc(32), Buffer.alloc(256, 1))).toBe(false);
        }
      }
      expect(native().verifyMessage(key, message, Buffer.alloc(64))).toBe(false);
    }
  });

  it('leaves the error queue of OpenSSL as it was', () => {
    const key = read(encoded);
    const fault = (): unknown => {
      try {
        return createPublicKey('-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----');
      } catch (error) {
        return error;
      }
    };
    const before = fault();
    for (let time = 0; time < 50; time += 1) {
      expect(native().verifyDigest(key, 2, 2, 2, 0, digest, Buffer.from('no value'))).toBe(false);
      expect(native().readKey(Buffer.from('no key'))).toBeUndefined();
    }
    expect(fault()).toEqual(before);
    expect(before).toHaveProperty('opensslErrorStack');
  });

  it('frees all memory of unused keys and of values, right and wrong', () => {
    const source = `
      const [file, ...parts] = process.argv.slice(1);
      const native = require(file);
      const [encoded, digest, value] = parts.map((part) => Buffer.from(part, 'base64'));
      const bad = Buffer.alloc(80, 1);
      const round = async (keys) => {
        for (let index = 0; index < keys; index += 1) {
          const key = native.readKey(encoded);
          native.readKey(bad);
          if (index % 10 === 0 && !native.verifyDigest(key, 2, 2, 2, 0, digest, value)) throw new Error('does not verify');
          if (index % 10 === 0 && native.verifyDigest(key, 2, 2, 2, 0, digest, bad)) throw new Error('verifies');
          if (index % 1000 === 0) await new Promise(setImmediate);
        }
        for (let time = 0; time < 3; time += 1) { gc(); await new Promise(setImmediate); }
        return process.memoryUsage.rss();
      };
      (async () => {
        await round(10000);
        const before = await round(10000);
        console.log((await round(40000)) - before);
      })();`;
    const parts = [encoded, digest, value].map((part) => part.toString('base64'));
    const grown = Number(
      execFileSync(process.execPath, ['--disable-sigusr1', '--expose-gc', '-e', source, file, ...parts], { encoding: 'utf8' }),
    );
    // 40,000 keys are more than 40 MB.
    expect(grown).toBeLessThan(10 * 1024 * 1024);
  });

  it('works in several threads at the same time, each with keys of its own, and lets them end', async () => {
    const source = `
      const { workerData: { file, encoded, digest, value } } = require('node:worker_threads');
      const native = require(file);
      let right = 0;
      for (let time = 0; time < 300; time += 1) {
        const key = native.readKey(encoded);
        const bad = Uint8Array.from(value, (octet, index) => (index === 20 ? octet ^ 1 : octet));
        if (native.verifyDigest(key, 2, 2, 2, 0, digest, value) && !native.verifyDigest(key, 2, 2, 2, 0, digest, bad)) right += 1;
      }
      require('node:worker_threads').parentPort.postMessage(right);`;
    const run = async (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const worker = new Worker(source, { eval: true, workerData: { file, encoded, digest, value } });
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    expect(await Promise.all(Array.from({ length: 6 }, run))).toEqual(Array.from({ length: 6 }, () => 300));
  });
});

/** Any certificate. */
function certificatePem(): string {
  return openssl(['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', '/dev/null', '-subj', '/CN=any', '-days', '2']).replace(
    /^[^]*?(?=-----BEGIN CERT)/,
    '',
  );
}
