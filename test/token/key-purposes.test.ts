import { createHash, createPublicKey, generateKeyPairSync, randomBytes, verify, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { successionText } from '../../src/audit/succession.ts';
import { loadTokenConfig } from '../../src/config/config.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { keyTrial, macKeyId, newKeyId, parseKeyId, type KeyId, type KeyPurpose } from '../../src/token/key-id.ts';
import type { SignatureAlgorithm } from '../../src/token/signature-algorithm.ts';
import { KeyGone } from '../../src/token/token.ts';
import { encodeFrame, FrameSplitter, operations, statuses, type Frame } from '../../src/token/wire/frames.ts';
import { writeAssignPurpose, writeCreateKey } from '../../src/token/wire/messages.ts';
import * as messages from '../../src/token/wire/provider-messages.ts';
import { writeServiceSign, writeSign } from '../../src/token/wire/sign-message.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { purposeMessages, subscriberExtensions, tbsCertificate, type PurposeMessages } from './purpose-messages.ts';

type Message = keyof PurposeMessages;

const purposes = ['audit', 'root', 'authority', 'ocsp', 'timeStamps'] as const satisfies readonly KeyPurpose[];
type Purpose = (typeof purposes)[number];

/** What the host of the service signs with each. */
const signs: Readonly<Record<Purpose, readonly Message[]>> = {
  audit: ['checkpoint'],
  root: ['responder', 'revocationList', 'emptyList'],
  authority: ['subscriber', 'responder', 'revocationList', 'emptyList'],
  ocsp: ['responseData', 'revokedResponse'],
  timeStamps: ['timeStampAttributes'],
};
const ofOperators: readonly Message[] = [
  'subscriber',
  'responder',
  'timeStampAuthority',
  'authority',
  'request',
  'revocationList',
  'emptyList',
];
const digest = createHash('sha256').update('document').digest();
const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;

let scratch: ScratchToken;
let token: TokenClient;
let operator: TokenClient;
let operatorSocket: string;
let made: PurposeMessages;
const keys = new Map<KeyPurpose, { readonly id: KeyId; readonly publicKey: KeyObject }>();

beforeAll(async () => {
  scratch = scratchToken({ threads: 2 });
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
  made = await purposeMessages();
  for (const purpose of purposes) {
    const id = newKeyId(purpose);
    const key = Buffer.from(await token.createKey(id, 'P-256'));
    keys.set(purpose, { id, publicKey: createPublicKey({ key, format: 'der', type: 'spki' }) });
  }
  // A host beside the one of the service, as a command of signetctl starts it.
  operatorSocket = join(scratch.directory, 'operator.sock');
  const configPath = join(scratch.directory, 'operator.yaml');
  writeFileSync(configPath, JSON.stringify({ token: { ...scratch.config, socketPath: operatorSocket } }));
  operator = new TokenClient(loadTokenConfig(configPath), configPath, recordingLog(), undefined, { servesOperator: true });
  await operator.start();
});

afterAll(async () => {
  await operator.stop();
  await token.stop();
  scratch.remove();
});

function keyFor(purpose: KeyPurpose): { readonly id: KeyId; readonly publicKey: KeyObject } {
  const key = keys.get(purpose);
  if (key === undefined) throw new Error(`no key for ${purpose}`);
  return key;
}

/** What the host answers to whoever is at its socket. */
async function answerOf(operation: number, body: Buffer, path = scratch.config.socketPath, thread = 0): Promise<Frame> {
  const socket = createConnection(`${path}.${thread}`);
  const splitter = new FrameSplitter();
  try {
    return await new Promise((resolve, reject) => {
      socket.on('error', reject);
      socket.on('close', () => {
        reject(new Error('the host closed the connection'));
      });
      socket.on('data', (chunk) => {
        const [frame] = splitter.push(chunk);
        if (frame !== undefined) resolve(frame);
      });
      socket.write(encodeFrame(7, operation, body));
    });
  } finally {
    socket.destroy();
  }
}

const statusOf = async (operation: number, body: Buffer, path?: string): Promise<number> => (await answerOf(operation, body, path)).code;
const signed = async (purpose: KeyPurpose, message: Uint8Array, algorithm: SignatureAlgorithm = ecdsa): Promise<number> =>
  statusOf(operations.signAsService, writeServiceSign(keyFor(purpose).id, algorithm, message));

describe.each(purposes)('a key for %s, whoever asks the host', (purpose) => {
  it('signs messages of its purpose, given whole', async () => {
    const { id, publicKey } = keyFor(purpose);
    for (const name of signs[purpose]) {
      const { code, body } = await answerOf(operations.signAsService, writeServiceSign(id, ecdsa, made[name]));
      expect([name, code]).toEqual([name, statuses.ok]);
      expect(verify('sha256', made[name], { key: publicKey, dsaEncoding: 'ieee-p1363' }, body.subarray(4))).toBe(true);
    }
    expect(await signed(purpose, keyTrial)).toBe(statuses.ok);
  });

  it('signs nothing of another purpose', async () => {
    for (const [name, message] of Object.entries(made)) {
      const isOwn = signs[purpose].some((own) => own === name);
      expect([name, await signed(purpose, message)]).toEqual([name, isOwn ? statuses.ok : statuses.forbidden]);
    }
  });

  it('signs no arbitrary bytes', async () => {
    const others = [Buffer.alloc(0), digest, randomBytes(300), Buffer.from('document'), Buffer.concat([keyTrial, keyTrial])];
    for (const message of others) expect(await signed(purpose, message)).toBe(statuses.forbidden);
  });

  it('signs no digest, with a secret that was made for it or without', async () => {
    const { id } = keyFor(purpose);
    expect(await statusOf(operations.sign, writeSign(id, ecdsa, [digest]))).toBe(statuses.forbidden);
    const [secret, scope] = [Buffer.from('mine'), randomBytes(32)];
    const proof = { kind: 'PASSWORD', secret, scope, ...(await token.makeMac(id, 'PASSWORD', secret, scope)) } as const;
    const body = writeSign(id, ecdsa, [digest], { anyOf: [{ ...proof, signs: true }] });
    expect(await statusOf(operations.sign, body)).toBe(statuses.forbidden);
  });

  it('signs nothing by SHA-1', async () => {
    const [name] = signs[purpose];
    if (name === undefined) throw new Error('each key signs something');
    const algorithms: SignatureAlgorithm[] = [
      { scheme: 'ECDSA', hash: 'sha1' },
      { scheme: 'RSA_PKCS1', hash: 'sha1' },
      { scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha1', saltBytes: 32 },
    ];
    for (const algorithm of algorithms) expect(await signed(purpose, made[name], algorithm)).toBe(statuses.forbidden);
  });

  it('signs no whole messages by HMAC or Ed25519, and is not made for them', async () => {
    const { id } = keyFor(purpose);
    for (const algorithm of [{ scheme: 'Ed25519' }, { scheme: 'HMAC', hash: 'sha256' }] as const) {
      expect(await statusOf(operations.signMessage, messages.writeSignMessage(id, algorithm, made.checkpoint))).toBe(statuses.malformed);
      const type = algorithm.scheme === 'HMAC' ? { ...algorithm, bytes: 32 } : algorithm;
      expect(await statusOf(operations.createMessageKey, messages.writeCreateMessageKey(newKeyId(purpose), type))).toBe(statuses.malformed);
    }
  });

  it('keeps its purpose', async () => {
    const legacy = parseKeyId(`53${keyFor(purpose).id.slice(2)}`);
    expect(await statusOf(operations.assignPurpose, writeAssignPurpose(legacy, 'root'))).toBe(statuses.forbidden);
    expect(await statusOf(operations.assignPurpose, writeAssignPurpose(keyFor(purpose).id, 'root'), operatorSocket)).toBe(
      statuses.malformed,
    );
  });
});

describe('the key of a CA', () => {
  const subscriber = (...extensions: Uint8Array[]): Buffer => tbsCertificate([...subscriberExtensions(), ...extensions]);
  const extension = (hex: string, value: Uint8Array): Uint8Array =>
    der.sequence(der.tagged(0x06, Buffer.from(hex, 'hex')), der.octetString(value));
  const keyUsage = (octet: number): Uint8Array => extension('551d0f', der.bitString(Uint8Array.of(octet)));
  const constraints = (...inside: Uint8Array[]): Uint8Array => extension('551d13', der.sequence(...inside));
  const purpose = (...oids: string[]): Uint8Array => extension('551d25', der.sequence(...oids.map((oid) => der.oid(oid))));
  const changed = (from: Uint8Array, to: Uint8Array): Buffer =>
    Buffer.from(made.subscriber.toString('hex').replace(Buffer.from(from).toString('hex'), Buffer.from(to).toString('hex')), 'hex');

  it.each<[string, () => Buffer]>([
    ['basicConstraints with cA', () => tbsCertificate([keyUsage(0x80), constraints(der.boolean(true))])],
    ['cA without keyUsage', () => tbsCertificate([constraints(der.boolean(true))])],
    ['a second basicConstraints', () => subscriber(constraints(der.boolean(true)))],
    ['keyCertSign', () => tbsCertificate([keyUsage(0x04)])],
    ['keyCertSign beside others', () => tbsCertificate([keyUsage(0xc4), constraints()])],
    ['cRLSign', () => tbsCertificate([keyUsage(0x82)])],
    ['no keyUsage', () => tbsCertificate([constraints()])],
    ['a cA that is neither TRUE nor FALSE', () => tbsCertificate([keyUsage(0x80), constraints(der.tagged(0x01, Uint8Array.of(1)))])],
    ['the purpose of a time-stamp authority', () => subscriber(purpose('1.3.6.1.5.5.7.3.8'))],
    ['any purpose', () => subscriber(purpose('2.5.29.37.0'))],
    ['OCSPSigning beside another purpose', () => subscriber(purpose('1.3.6.1.5.5.7.3.9', '1.3.6.1.5.5.7.3.4'))],
    ['the purpose of an OCSP responder for two years', () => tbsCertificate([keyUsage(0x80), purpose('1.3.6.1.5.5.7.3.9')], 730)],
    ['an end before its beginning', () => changed(Buffer.from('260303100000Z'), Buffer.from('260301100000Z'))],
    ['a day that is none', () => changed(Buffer.from('260303100000Z'), Buffer.from('260332100000Z'))],
    ['version 2', () => changed(Buffer.from('a003020102', 'hex'), Buffer.from('a003020101', 'hex'))],
    ['something behind it', () => Buffer.concat([made.subscriber, Buffer.of(5, 0)])],
  ])('of an issuing CA signs no certificate with %s', async (_, message) => {
    expect(await signed('authority', message())).toBe(statuses.forbidden);
  });

  it.each(['root', 'authority'] as const)(
    'for %s signs more for the command of an operator, and nothing that is no such thing',
    async (kind) => {
      for (const [name, message] of Object.entries(made)) {
        const body = writeServiceSign(keyFor(kind).id, ecdsa, message);
        const expected = ofOperators.some((own) => own === name) ? statuses.ok : statuses.forbidden;
        expect([name, await statusOf(operations.signAsService, body, operatorSocket)]).toEqual([name, expected]);
      }
    },
  );

  it('signs a CRL of 100,000 entries', async () => {
    const { revocationList } = await purposeMessages(100_000);
    expect(revocationList.length).toBeGreaterThan(4_000_000);
    const { id, publicKey } = keyFor('authority');
    const value = await token.signAsService(id, ecdsa, revocationList);
    expect(verify('sha256', revocationList, { key: publicKey, dsaEncoding: 'ieee-p1363' }, value)).toBe(true);
    const half = revocationList.length >> 1;
    const broken = Buffer.concat([
      revocationList.subarray(0, half),
      Buffer.of(revocationList.readUInt8(half) ^ 0xff),
      revocationList.subarray(half + 1),
    ]);
    // Somewhere in the middle of an entry: a number or a time is another then, or the entry is none.
    expect([statuses.ok, statuses.forbidden]).toContain(await signed('authority', broken));
    await expect(token.signAsService(id, ecdsa, Buffer.alloc((64 << 20) + 1))).rejects.toThrow(RangeError);
  });
});

describe('keys of earlier versions, which have no purpose', () => {
  const legacy = (): KeyId => parseKeyId(`53${randomBytes(16).toString('hex')}`);

  it('are no longer created', async () => {
    expect(await statusOf(operations.createKey, writeCreateKey(legacy(), 'P-256'))).toBe(statuses.forbidden);
    expect(await statusOf(operations.createKey, writeCreateKey(newKeyId('mac'), 'P-256'))).toBe(statuses.forbidden);
    expect(await statusOf(operations.createKey, writeCreateKey(macKeyId, 'P-256'))).toBe(statuses.forbidden);
  });

  it('sign nothing, even if the token has one', async () => {
    const id = legacy();
    expect(await statusOf(operations.sign, writeSign(id, ecdsa, [digest]))).toBe(statuses.forbidden);
    for (const message of Object.values(made))
      expect(await statusOf(operations.signAsService, writeServiceSign(id, ecdsa, message))).toBe(statuses.forbidden);
  });

  it('are given one by the host of an operator: a key that is not there has none', async () => {
    await expect(operator.assignPurpose(legacy(), 'root')).rejects.toThrow(KeyGone);
    await expect(token.assignPurpose(legacy(), 'root')).rejects.toThrow("only an operator's command assigns a purpose");
  });
});

describe('the key of checkpoints', () => {
  it('signs in each thread that a key follows it which this host has made, and no other, twice in a row', async () => {
    const { id, publicKey } = keyFor('audit');
    const former = publicKey.export({ format: 'der', type: 'spki' });
    const asked = async (next: Uint8Array, thread: number, path?: string): Promise<number> => {
      const text = successionText(former, next, new Date().toISOString());
      return (await answerOf(operations.signAsService, writeServiceSign(id, ecdsa, Buffer.from(text)), path, thread)).code;
    };
    const outside = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'der', type: 'spki' });
    const ofCaller = await token.createKey(newKeyId('caller'), 'P-256');
    for (const by of [0, 1]) {
      const { code, body } = await answerOf(operations.createKey, writeCreateKey(newKeyId('audit'), 'P-256'), undefined, by);
      expect(code).toBe(statuses.ok);
      const own = body.subarray(4);
      for (const thread of [0, 1]) {
        expect(await asked(own, thread)).toBe(statuses.ok);
        for (const next of [outside, ofCaller]) expect(await asked(next, thread)).toBe(statuses.forbidden);
      }
      expect(await asked(own, 0, operatorSocket)).toBe(statuses.forbidden);
    }
  });
});
