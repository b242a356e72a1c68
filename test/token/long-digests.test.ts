import { createHash, createPublicKey, verify } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { newKeyId } from '../../src/token/key-id.ts';
import { skipNote } from '../support/skip-note.ts';
import { FaultyToken, makes } from './faulty-token.ts';

const document = Buffer.from('document');

describe.each(makes)('on $make, a module that refuses digests longer than the order of the curve', ({ make, missing }) => {
  let faulty: FaultyToken | undefined;
  afterEach(async () => {
    await faulty?.remove();
  });

  it.skipIf(missing !== undefined).each([
    { type: 'P-256', bytes: 32 },
    { type: 'P-384', bytes: 48 },
  ] as const)(`signs with $type and every hash${skipNote(missing)}`, async ({ type, bytes }) => {
    faulty = await new FaultyToken({ clientSeconds: 20, make, variables: { FAULT_ECDSA_AT_MOST: String(bytes) } }).start();
    const { client } = faulty;
    const id = newKeyId('general');
    const key = createPublicKey({ key: Buffer.from(await client.createKey(id, type)), format: 'der', type: 'spki' });
    for (let time = 1; time <= 2; time += 1) {
      for (const hash of ['sha256', 'sha384', 'sha512'] as const) {
        const digest = createHash(hash).update(document).digest();
        const [value] = await client.signDigests(id, { scheme: 'ECDSA', hash }, [digest]);
        expect(verify(hash, document, { key, dsaEncoding: 'ieee-p1363' }, value ?? Buffer.alloc(0))).toBe(true);
        // The native function; the key is on P-256.
        expect(await faulty.signAllAsCaller([digest, digest], hash)).toBe(true);
      }
      await faulty.restart();
    }
  });
});
