import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { Content } from '../../src/documents/content.ts';
import { RequestSecrets } from '../../src/idempotency/request-secrets.ts';
import { canonicalMac } from '../../src/idempotency/canonical-mac.ts';
import { cutIntoParts, partBytes } from '../../src/sealed-parts/cut.ts';
import { PlaceNonceCipher, RandomNonceCipher, type PartCipher } from '../../src/sealed-parts/part-cipher.ts';
import { MissingPart, sealedParts, SealedParts, type PartsOwner } from '../../src/sealed-parts/sealed-parts.ts';
import { SessionSecrets } from '../../src/signatures/sessions/session-secrets.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { sealingKey } from '../support/sealing-keys.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-parts-'));
const threads = new WorkThreads();
let store: StateStore;

beforeAll(async () => {
  store = await openSqliteStore(join(directory, 'state.sqlite'));
});

afterAll(async () => {
  await store.close();
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function collected(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all);
}

function fileOf(name: string, bytes: Uint8Array): Content & { readonly descriptor: number } {
  const path = join(directory, name);
  writeFileSync(path, bytes);
  return { descriptor: openSync(path, 'r+'), bytes: bytes.length };
}

const hmac = (key: Uint8Array, ...data: readonly (string | Uint8Array)[]): Buffer => {
  const mac = createHmac('sha256', key);
  for (const one of data) mac.update(one);
  return mac.digest();
};

/** AES-256-GCM: the ciphertext and its tag. */
function encrypted(key: Uint8Array, nonce: Uint8Array, authenticated: Uint8Array, plain: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(authenticated);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

const uint32 = (...values: readonly number[]): Buffer => Buffer.concat(values.map((value) => Buffer.of(0, 0, 0, value)));

describe('what a state store holds', () => {
  const tokenKey = randomBytes(32);
  const tokenMac = async (message: Uint8Array): Promise<Uint8Array> => Promise.resolve(hmac(tokenKey, message));
  const plain = randomBytes(100);

  it('of kept answers is found and opened', async () => {
    const request = { client: 'ab', tenant: 'demo', operation: '/sign', idempotencyKey: 'key', body: { a: 1 }, bodyBytes: 7 };
    const secret = hmac(tokenKey, JSON.stringify(['kept answer', 2, 'ab', 'demo', '/sign', 'key']));
    const ofBody = await canonicalMac(hmac(secret, 'body;'), request.body, threads);
    const id = hmac(secret, 'id;');
    const key = hmac(secret, 'answer;', ofBody.subarray(32));
    const nonce = randomBytes(12);
    const stored = Buffer.concat([Buffer.of(2), nonce, encrypted(key, nonce, Buffer.concat([id, uint32(3)]), plain)]);
    const secrets = await RequestSecrets.of(request, sealingKey(tokenMac), threads);
    expect(secrets.id).toBe(id.toString('hex'));
    expect(secrets.fingerprint.equals(ofBody.subarray(0, 32))).toBe(true);
    expect(Buffer.from((await secrets.cipher.open({ item: 0, part: 3 }, stored)).bytes).equals(plain)).toBe(true);
    await expect(secrets.cipher.open({ item: 0, part: 4 }, stored)).rejects.toThrow();
  });

  it('of sessions is found and opened', async () => {
    const secret = hmac(tokenKey, JSON.stringify(['signature session', 2, 'demo', 'thread']));
    const head = Buffer.of(2, 1);
    const stored = Buffer.concat([head, encrypted(hmac(secret, 'key;'), uint32(2, 3, 0), head, plain)]);
    const secrets = await SessionSecrets.of('demo', 'thread', sealingKey(tokenMac));
    expect(secrets.id).toBe(hmac(secret, 'id;').toString('hex'));
    const opened = await secrets.cipher.open({ item: 2, part: 3 }, stored);
    expect(opened).toMatchObject({ isLast: true });
    expect(Buffer.from(opened.bytes).equals(plain)).toBe(true);
    expect(Buffer.from(await secrets.cipher.seal({ item: 2, part: 3 }, true, new Uint8Array(plain))).equals(stored)).toBe(true);
    await expect(secrets.cipher.open({ item: 3, part: 2 }, stored)).rejects.toThrow();
  });
});

const ciphers: Record<PartsOwner['kind'], () => PartCipher> = {
  answer: () => new RandomNonceCipher(2, new Uint8Array(randomBytes(32)), randomBytes(32)),
  session: () => new PlaceNonceCipher(1, new Uint8Array(randomBytes(32))),
};

describe.each(['answer', 'session'] as const)('the sealed parts of an owner of the kind %s', (kind) => {
  const owner = (id: string): PartsOwner => (kind === 'answer' ? { kind, id, claim: 'c' } : { kind, id });

  it.each([0, 1, partBytes - 1, partBytes, partBytes + 1, 2 * partBytes])('hold %i bytes', async (size) => {
    const content = randomBytes(size);
    const file = fileOf(`${kind}-${size}`, content);
    const cipher = ciphers[kind]();
    for (const [index, pieces] of [[content], [file], [content.subarray(0, 1), content.subarray(1)]].entries()) {
      const parts = new SealedParts(store, owner(`${size}-${index}`), cipher);
      let count = 0;
      for await (const part of sealedParts(cipher, 0, pieces)) {
        await parts.add(part);
        count += 1;
      }
      expect(count).toBe(Math.max(1, Math.ceil(size / partBytes)));
      expect((await collected(parts.open(0))).equals(content)).toBe(true);
    }
    closeSync(file.descriptor);
  });

  it.each([
    ['another key', 0, async (part: Uint8Array) => ciphers[kind]().open({ item: 0, part: 0 }, part)],
    ['another place', 1, undefined],
    ['a bit turned', 0, undefined],
    ['another version', 0, undefined],
  ])('do not open with %s', async (what, part, elsewhere) => {
    const cipher = ciphers[kind]();
    const sealed = Buffer.from(await cipher.seal({ item: 0, part: 0 }, true, new Uint8Array(20)));
    if (what === 'a bit turned') sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1;
    if (what === 'another version') sealed[0] = 9;
    await expect(elsewhere === undefined ? cipher.open({ item: 0, part }, sealed) : elsewhere(sealed)).rejects.toThrow();
  });

  it('are missing when they have gone', async () => {
    const parts = new SealedParts(store, owner('gone'), ciphers[kind]());
    await expect(collected(parts.open(0))).rejects.toThrow(MissingPart);
  });
});

test('an item of a session without its last part does not pass for a shorter one', async () => {
  const cipher = ciphers.session();
  const parts = new SealedParts(store, { kind: 'session', id: 'cut' }, cipher);
  for await (const part of sealedParts(cipher, 1, [new Uint8Array(partBytes + 1)])) if (part.part === 0) await parts.add(part);
  await expect(collected(parts.open(1))).rejects.toThrow(MissingPart);
});

test('a file that has become shorter is refused', async () => {
  const file = fileOf('shorter', new Uint8Array(1000));
  ftruncateSync(file.descriptor, 10);
  await expect(cutIntoParts([file]).next()).rejects.toMatchObject({
    ...{ name: 'Refusal', code: 'DOCUMENT_INVALID', message: 'a file changed while it was read' },
    cause: { code: 'CONTENT_CHANGED' },
  });
  closeSync(file.descriptor);
});
