import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CheckpointKeys } from '../../src/audit/checkpoint-writer.ts';
import type { CheckpointSigner } from '../../src/audit/checkpoint.ts';
import { keyDigest } from '../../src/audit/checkpoint.ts';
import { lineHash } from '../../src/audit/line.ts';
import { signSuccession, successionText, successionVerifies } from '../../src/audit/succession.ts';
import { KeyGone } from '../../src/token/token.ts';
import { requestEntry, ScratchLog, softwareSigner, writeFiles } from './scratch-log.ts';

/** Keys as the state store and the token have them: all instances use the present one, and a former one is gone. */
class ScratchKeys implements CheckpointKeys {
  readonly all: CheckpointSigner[];

  constructor(first: CheckpointSigner) {
    this.all = [first];
  }

  async current(): Promise<CheckpointSigner> {
    const signer = this.all.at(-1);
    if (signer === undefined) throw new Error('there is a key');
    return Promise.resolve({
      ...signer,
      sign: async (bytes) => (signer === this.all.at(-1) ? signer.sign(bytes) : Promise.reject(new KeyGone('destroyed'))),
    });
  }

  async replace(): Promise<{ readonly destroyFormer: () => Promise<void> }> {
    const next = softwareSigner();
    const succession = await signSuccession(await this.current(), next.publicKey);
    this.all.push({ ...next, succession });
    return { destroyFormer: async () => Promise.resolve() };
  }
}

let log: ScratchLog;
let keys: ScratchKeys;

beforeEach(() => {
  log = new ScratchLog();
  keys = new ScratchKeys(log.signer);
});
afterEach(() => {
  log.remove();
});

const open = async (): ReturnType<ScratchLog['open']> => log.open({ keys, signer: await keys.current() });
const publicKeys = (): Uint8Array[] => keys.all.map(({ publicKey }) => publicKey);

/** A log in which two keys have followed the first. */
async function twiceReplaced(): Promise<void> {
  const audit = await open();
  for (const number of [1, 2]) {
    await audit.record(requestEntry(number));
    expect(await audit.replaceKey()).toMatchObject({
      former: keys.all[number - 1]?.publicKey,
      publicKey: keys.all[number]?.publicKey,
      file: number + 1,
    });
  }
  await audit.record(requestEntry(3));
  await audit.stop();
}

describe('another key of checkpoints', () => {
  it('begins a file that names it, and each key verifies the checkpoints of its files', async () => {
    await twiceReplaced();
    const { bad, keys: used, files } = await log.verify({ publicKeys: publicKeys() });
    expect([bad, files]).toEqual([undefined, 3]);
    expect(used.map(({ sha256 }) => sha256)).toEqual(publicKeys().map(keyDigest));
    expect(used.every(({ checkpoints, from, to }) => checkpoints > 0 && to >= from - 1)).toBe(true);
  });

  it('is followed by who knows only the first, and leads nobody back who knows only the last', async () => {
    await twiceReplaced();
    const [first = new Uint8Array(), , last = new Uint8Array()] = publicKeys();
    expect((await log.verify({ publicKeys: [first] })).bad).toBeUndefined();
    expect((await log.verify({ publicKeys: [last] })).bad).toMatchObject({ file: 'audit-00000001.jsonl', line: 1 });
  });

  it('is followed where a state store from before it was restored, which knows the first and makes another', async () => {
    await twiceReplaced();
    const [first = new Uint8Array()] = publicKeys();
    const another = softwareSigner();
    keys.all.push(another);
    await (await open()).stop();
    expect((await log.verify({ publicKeys: [first, another.publicKey] })).bad).toBeUndefined();
    expect((await log.verify({ publicKeys: [first] })).bad).toMatchObject({ file: 'audit-00000004.jsonl', line: 1 });
  });

  it('is not followed if another key than the one before says so, or it says so of another', async () => {
    await twiceReplaced();
    const files = log.files();
    const [first = new Uint8Array()] = publicKeys();
    const name = 'audit-00000002.jsonl';
    const [opening = '', ...rest] = files.get(name) ?? [];
    const stranger = softwareSigner();
    const saysSo = async (by: CheckpointSigner, of: Uint8Array): Promise<string> => {
      const succession = { ...(await signSuccession(by, of)), former: Buffer.from(first).toString('base64') };
      return opening.replace(/"succession":\{[^}]*\}/, `"succession":${JSON.stringify(succession)}`);
    };
    for (const forged of [await saysSo(stranger, keys.all[1]?.publicKey ?? first), await saysSo(log.signer, stranger.publicKey)]) {
      writeFiles(log.directory, new Map([...files, [name, [forged, ...rest]]]));
      expect((await log.verify({ publicKeys: [first], heads: [] })).bad).toMatchObject({ file: name, line: 1 });
    }
    writeFiles(log.directory, files);
    expect((await log.verify({ publicKeys: [first] })).bad).toBeUndefined();
  });

  it('is not followed if it is no key of checkpoints, whatever the one before says', async () => {
    await twiceReplaced();
    const files = log.files();
    const [first = new Uint8Array()] = publicKeys();
    const name = 'audit-00000002.jsonl';
    const [opening = '', ...rest] = files.get(name) ?? [];
    const spki = { format: 'der', type: 'spki' } as const;
    for (const odd of [
      Buffer.from('no key at all'),
      generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export(spki),
      generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export(spki),
    ]) {
      const succession = JSON.stringify(await signSuccession(log.signer, odd));
      const forged = opening
        .replace(/"publicKey":"[^"]*"/, `"publicKey":"${odd.toString('base64')}"`)
        .replace(/"succession":\{[^}]*\}/, `"succession":${succession}`);
      const next = (rest[0] ?? '').replace(/"previous":"[^"]*"/, `"previous":"${lineHash(forged)}"`);
      writeFiles(log.directory, new Map([...[...files].filter(([file]) => file <= name), [name, [forged, next]]]));
      const { bad } = await log.verify({ publicKeys: [first], heads: [] });
      expect(bad).toEqual({ file: name, line: 1, why: 'its checkpoint key is not trusted' });
    }
  });

  it('is used from the next checkpoint on by an instance that did not replace it, and after a start', async () => {
    const audit = await open();
    await audit.record(requestEntry(1));
    await keys.replace();
    await audit.stop();
    expect((await log.verify({ publicKeys: publicKeys() })).keys).toHaveLength(2);
    await keys.replace();
    await (await open()).stop();
    const { bad, keys: used } = await log.verify({ publicKeys: publicKeys() });
    expect([bad, used.map(({ sha256 }) => sha256)]).toEqual([undefined, publicKeys().map(keyDigest)]);
  });

  it('is used by the checkpoint that found the former one destroyed', async () => {
    const audit = await open();
    const before = await keys.current();
    await audit.record(requestEntry(1));
    // What `current` says just before another instance replaces the key.
    const current = keys.current.bind(keys);
    let isFirst = true;
    keys.current = async () => {
      const known = isFirst ? before : await current();
      isFirst = false;
      return known;
    };
    await keys.replace();
    isFirst = true;
    await audit.stop();
    expect(log.log.lines.filter((line) => line.includes('cannot write a checkpoint'))).toEqual([]);
    expect((await log.verify({ publicKeys: publicKeys() })).bad).toBeUndefined();
  });
});

it('a key says which key follows it, in text that any tool can build', async () => {
  const [former, next] = [softwareSigner(), softwareSigner()];
  const succession = await signSuccession(former, next.publicKey);
  const key = createPublicKey({ key: Buffer.from(former.publicKey), format: 'der', type: 'spki' });
  expect(successionText(former.publicKey, next.publicKey, succession.time)).toBe(
    `signetd audit key v1\nformer: ${keyDigest(former.publicKey)}\nnew: ${keyDigest(next.publicKey)}\ntime: ${succession.time}\n`,
  );
  expect(successionVerifies(succession, next.publicKey, key)).toBe(true);
  expect(successionVerifies({ ...succession, time: '2026-01-02T03:04:05.678Z' }, next.publicKey, key)).toBe(false);
  expect(successionVerifies(succession, former.publicKey, key)).toBe(false);
});
