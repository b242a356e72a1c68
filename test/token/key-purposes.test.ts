import { createHash, randomBytes } from 'node:crypto';
import { createConnection } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId, type KeyId, type KeyPurpose } from '../../src/token/key-id.ts';
import { encodeFrame, FrameSplitter, operations, statuses } from '../../src/token/wire/frames.ts';
import { writeSign } from '../../src/token/wire/sign-message.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';

const purposes = ['audit', 'root', 'authority', 'ocsp', 'timeStamps'] as const satisfies readonly KeyPurpose[];
const digest = createHash('sha256').update('document').digest();
const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;

let scratch: ScratchToken;
let token: TokenClient;
const keys = new Map<KeyPurpose, KeyId>();

beforeAll(async () => {
  scratch = scratchToken();
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
  for (const purpose of purposes) {
    const id = newKeyId(purpose);
    keys.set(purpose, id);
    await token.createKey(id, 'P-256');
  }
});

afterAll(async () => {
  await token.stop();
  scratch.remove();
});

function keyFor(purpose: KeyPurpose): KeyId {
  const id = keys.get(purpose);
  if (id === undefined) throw new Error(`no key for ${purpose}`);
  return id;
}

/** What the host answers to whoever is at its socket. */
async function ask(operation: number, body: Buffer): Promise<number | undefined> {
  const socket = createConnection(`${scratch.config.socketPath}.0`);
  const splitter = new FrameSplitter();
  const status = await new Promise<number | undefined>((resolve) => {
    socket.on('data', (chunk) => {
      resolve(splitter.push(chunk)[0]?.code);
    });
    socket.write(encodeFrame(7, operation, body));
  });
  socket.destroy();
  return status;
}

describe('a key with a purpose, whoever asks the host', () => {
  it.each(purposes)('%s: signs no digest', async (purpose) => {
    expect(await ask(operations.sign, writeSign(keyFor(purpose), ecdsa, [digest]))).toBe(statuses.forbidden);
  });

  it.each(purposes)('%s: signs no digest with a secret that was made for it either', async (purpose) => {
    const id = keyFor(purpose);
    const salt = randomBytes(16);
    const secret = Buffer.from('mine');
    const proof = { kind: 'PASSWORD', salt, secret, mac: await token.makeMac(id, 'PASSWORD', salt, secret) } as const;
    const body = writeSign(id, ecdsa, [digest], { anyOf: [{ ...proof, signs: true }] });
    expect(await ask(operations.sign, body)).toBe(statuses.forbidden);
  });
});
