import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newKeyId } from '../../src/token/key-id.ts';
import type { SecretKind } from '../../src/token/token.ts';
import { WireError } from '../../src/token/wire/fields.ts';
import { encodeFrame, FrameSplitter, operations } from '../../src/token/wire/frames.ts';
import {
  macInput,
  readAssignPurpose,
  readCreateKey,
  readMakeMac,
  readVerifyProof,
  writeVerifyProof,
} from '../../src/token/wire/messages.ts';
import { readServiceSign, readSign, writeServiceSign, writeSign } from '../../src/token/wire/sign-message.ts';

const bytes = (length: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((value) => Buffer.from(value));

describe('the wire between daemon and token host', () => {
  it('cuts a stream into its frames wherever the chunks end', () => {
    const frame = fc.record({
      id: fc.nat(0xffffffff),
      code: fc.nat(255),
      body: fc.uint8Array({ maxLength: 300 }).map((value) => Buffer.from(value)),
    });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (frames, cuts) => {
        const stream = Buffer.concat(frames.map(({ id, code, body }) => encodeFrame(id, code, body)));
        const splitter = new FrameSplitter();
        const read = [];
        for (let offset = 0, cut = 0; offset < stream.length; cut += 1) {
          const length = cuts[cut % cuts.length] ?? 1;
          read.push(...splitter.push(stream.subarray(offset, offset + length)));
          offset += length;
        }
        expect(read).toEqual(frames);
      }),
    );
  });

  it('reads a signature request as it was written', () => {
    const id = newKeyId('caller');
    fc.assert(
      fc.property(
        fc.array(bytes(32), { minLength: 1, maxLength: 5 }),
        bytes(16),
        fc.uint8Array({ maxLength: 200 }),
        bytes(32),
        bytes(32),
        (digests, salt, secret, scope, mac) => {
          const proof = { kind: 'PASSWORD', salt, secret: Buffer.from(secret), scope, mac } as const;
          const proofs = {
            anyOf: [{ ...proof, signs: true }, { ...proof, kind: 'OTP_SIGN', signs: false } as const],
            also: { ...proof, kind: 'TRANSACTION' } as const,
          };
          const algorithm = { scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha384', saltBytes: 20 } as const;
          expect(readSign(writeSign(id, algorithm, digests, proofs))).toEqual({ id, algorithm, digests, proofs });
          expect(readVerifyProof(writeVerifyProof(id, { anyOf: [{ ...proof, signs: false }] }))).toEqual({
            id,
            proofs: { anyOf: [{ ...proof, signs: false }], also: undefined },
          });
        },
      ),
    );
  });

  it('lets no key sign with a value that is not a secret for signing', () => {
    const id = newKeyId('caller');
    const [salt, bytesOf32] = [Buffer.alloc(16), Buffer.alloc(32)];
    const request = (kind: SecretKind): Buffer =>
      writeSign(id, { scheme: 'ECDSA', hash: 'sha256' }, [bytesOf32], {
        anyOf: [{ kind, salt, secret: bytesOf32, scope: bytesOf32, mac: bytesOf32, signs: true }],
      });
    for (const kind of ['RECORD', 'TRANSACTION', 'OTP_REVOKE', 'OTP_CHANGE_PASSWORD'] as const) {
      expect(() => readSign(request(kind))).toThrow(WireError);
    }
    for (const kind of ['PASSWORD', 'AUTH_TOKEN', 'OTP_SIGN'] as const) expect(readSign(request(kind)).proofs?.anyOf).toHaveLength(1);
  });

  it('reads a request to sign a message as it was written', () => {
    const id = newKeyId('authority');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom('sha256' as const, 'sha384' as const), (bytes_, hash) => {
        const message = Buffer.from(bytes_);
        for (const algorithm of [
          { scheme: 'ECDSA', hash },
          { scheme: 'RSA_PSS', hash, mgfHash: hash, saltBytes: 48 },
        ] as const)
          expect(readServiceSign(writeServiceSign(id, algorithm, message))).toEqual({ id, algorithm, message });
      }),
    );
  });

  it('takes a long frame of the one request that may be long, whatever its chunks, and of no other', () => {
    const body = randomBytes(3 << 20);
    const frame = encodeFrame(9, operations.signAsService, body);
    const host = new FrameSplitter(operations.signAsService);
    const read = [];
    for (let offset = 0; offset < frame.length; offset += 65_000) read.push(...host.push(frame.subarray(offset, offset + 65_000)));
    // A deep comparison of megabytes takes seconds.
    expect(read.map(({ id, code, body: whole }) => [id, code, whole.equals(body)])).toEqual([[9, operations.signAsService, true]]);
    expect(() => new FrameSplitter(operations.signAsService).push(encodeFrame(9, operations.signMessage, body))).toThrow(WireError);
    expect(() => new FrameSplitter().push(frame)).toThrow(WireError);
    const tooLong = Buffer.from(frame.subarray(0, 20));
    tooLong.writeUInt32BE((64 << 20) + 1, 0);
    expect(() => host.push(tooLong)).toThrow(WireError);
  });

  it('answers any bytes with a message or a WireError or RangeError, never with anything else', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 120 }),
        fc.constantFrom(readSign, readServiceSign, readVerifyProof, readMakeMac, readCreateKey, readAssignPurpose),
        (body, read) => {
          try {
            read(Buffer.from(body));
          } catch (error) {
            expect(error instanceof WireError || error instanceof RangeError).toBe(true);
          }
        },
      ),
      { numRuns: 5000 },
    );
  });

  it('has no two secrets with one MAC input', () => {
    const id = newKeyId('caller');
    fc.assert(
      fc.property(bytes(16), bytes(16), fc.uint8Array(), fc.uint8Array(), bytes(32), bytes(32), (saltA, saltB, a, b, scopeA, scopeB) => {
        fc.pre(!saltA.equals(saltB) || !scopeA.equals(scopeB) || Buffer.compare(a, b) !== 0);
        expect(macInput(id, 'PASSWORD', saltA, a, scopeA).equals(macInput(id, 'PASSWORD', saltB, b, scopeB))).toBe(false);
      }),
    );
  });
});
