import { createConnection } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { macKeyId, newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { macHashes, type MessageAlgorithm } from '../../src/token/service-keys.ts';
import { WireError } from '../../src/token/wire/fields.ts';
import { encodeFrame, FrameSplitter, maxFrameBytes, operations, statuses } from '../../src/token/wire/frames.ts';
import * as messages from '../../src/token/wire/provider-messages.ts';
import { scratchProvider } from '../webcrypto/scratch-provider.ts';

const bytes = fc.uint8Array({ maxLength: 200 }).map((value) => Buffer.from(value));
const algorithms = fc.constantFrom<MessageAlgorithm>(
  { scheme: 'Ed25519' },
  ...macHashes.map((hash) => ({ scheme: 'HMAC' as const, hash })),
);

describe('requests on keys that sign messages whole', () => {
  const id = newKeyId('general');

  it('are read as they were written', () => {
    fc.assert(
      fc.property(
        algorithms,
        bytes,
        bytes,
        fc.constantFrom(...macHashes),
        fc.integer({ min: 1, max: 512 }),
        (algorithm, message, mac, hash, length) => {
          expect(messages.readSignMessage(messages.writeSignMessage(id, algorithm, message))).toEqual({ id, algorithm, message });
          expect(messages.readVerifyMac(messages.writeVerifyMac(id, hash, message, mac))).toEqual({ id, hash, message, mac });
          const type = algorithm.scheme === 'HMAC' ? { ...algorithm, bytes: length } : algorithm;
          expect(messages.readCreateMessageKey(messages.writeCreateMessageKey(id, type))).toEqual({ id, type });
        },
      ),
    );
  });

  it('are read as a message or as a WireError or RangeError, whatever the bytes', () => {
    const readers = fc.constantFrom<(body: Buffer) => unknown>(
      messages.readSignMessage,
      messages.readVerifyMac,
      messages.readCreateMessageKey,
    );
    const start = fc.constantFrom(Buffer.alloc(0), messages.writeSignMessage(id, { scheme: 'Ed25519' }, Buffer.alloc(0)).subarray(0, 22));
    fc.assert(
      fc.property(start, bytes, readers, (head, body, read) => {
        try {
          read(Buffer.concat([head, body]));
        } catch (error) {
          expect(error instanceof WireError || error instanceof RangeError).toBe(true);
        }
      }),
      { numRuns: 5000 },
    );
  });

  it('fit into a frame with the longest message, and are refused with a longer message', () => {
    const longest = Buffer.alloc(messages.maxMessageBytes);
    const frame = encodeFrame(1, operations.verifyMac, messages.writeVerifyMac(id, 'sha512', longest, Buffer.alloc(64)));
    expect(new FrameSplitter().push(frame)).toHaveLength(1);
    expect(frame.length).toBeLessThanOrEqual(maxFrameBytes);
    expect(() => messages.writeSignMessage(id, { scheme: 'Ed25519' }, Buffer.alloc(longest.length + 1))).toThrow(RangeError);
  });
});

describe('the token host, whoever asks it', () => {
  const provider = scratchProvider();

  const ask = async (operation: number, body: Buffer): Promise<number | undefined> => {
    const socket = createConnection(`${provider().scratch.config.socketPath}.0`);
    const splitter = new FrameSplitter();
    const status = await new Promise<number | undefined>((resolve) => {
      socket.on('data', (chunk) => {
        resolve(splitter.push(chunk)[0]?.code);
      });
      socket.write(encodeFrame(7, operation, body));
    });
    socket.destroy();
    return status;
  };

  it("signs no message with a caller's key or the key that secrets are checked with, and makes neither", async () => {
    const message = Buffer.from('document');
    const requests = (id: KeyId): [number, Buffer][] => [
      [operations.signMessage, messages.writeSignMessage(id, { scheme: 'HMAC', hash: 'sha256' }, message)],
      [operations.signMessage, messages.writeSignMessage(id, { scheme: 'Ed25519' }, message)],
      [operations.verifyMac, messages.writeVerifyMac(id, 'sha256', message, Buffer.alloc(32))],
      [operations.createMessageKey, messages.writeCreateMessageKey(id, { scheme: 'Ed25519' })],
      [operations.createMessageKey, messages.writeCreateMessageKey(id, { scheme: 'HMAC', hash: 'sha256', bytes: 32 })],
    ];
    for (const id of [newKeyId('caller'), macKeyId]) {
      for (const [operation, body] of requests(id)) expect(await ask(operation, body)).toBe(statuses.malformed);
    }
    expect(await ask(...(requests(newKeyId('general'))[4] ?? [0, message]))).toBe(statuses.ok);
  });

  it('does not destroy the key that secrets are checked with', async () => {
    const { token } = provider();
    const id = newKeyId('caller');
    const [secret, scope] = [Buffer.from('right'), Buffer.alloc(32)];
    const made = await token.makeMac(id, 'PASSWORD', secret, scope);
    await token.destroyKey(macKeyId);
    expect(await token.verifyProof(id, { anyOf: [{ kind: 'PASSWORD', secret, scope, ...made, signs: false }] })).toEqual({
      verified: true,
      by: 0,
    });
    expect((await token.listKeys()).map((key) => key.id)).not.toContain(macKeyId);
  });
});
