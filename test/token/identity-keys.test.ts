import { createHash, createPublicKey, verify } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { identityFault } from '../../src/token/host/purposes/data-zone.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import type { SignatureAlgorithm } from '../../src/token/signature-algorithm.ts';
import type { Candidate, Proofs } from '../../src/token/token.ts';
import { maxZoneBytes, readIdentitySign, writeIdentitySign } from '../../src/token/wire/sign-message.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';

const algorithms = {
  'P-256': { scheme: 'ECDSA', hash: 'sha256' },
  'P-384': { scheme: 'ECDSA', hash: 'sha384' },
  'P-521': { scheme: 'ECDSA', hash: 'sha512' },
} as const satisfies Record<string, SignatureAlgorithm>;
const curves = ['P-256', 'P-384', 'P-521'] as const;
const scope = createHash('sha256').update('scope').digest();

const zones = {
  'version 02': 'DC02FR000001125E125E0126FR75018\u001d',
  'version 03': 'DC03FR000001125E125E010126FR75018',
  'version 04': 'DC04FR000001FFFF125E0101FR26FR\u001e22A 1/B.',
  'no fields': 'DC02FR000001125E125E01',
} as const;
const notZones = {
  nothing: '',
  'a text': 'Lu et approuve',
  'the version 01, which is only read': 'DC01FR000001125E125E0126FR75018',
  'the version 05': 'DC05FR000001125E125E0101FR',
  'half a header': 'DC04FR000001125E125E0101',
  'a date that is none': 'DC02FR000001125G125E01',
  'lower case in the header': 'DC02fr000001125E125E01',
  'a signed code': 'DC02FR000001125E125E0126FR\u001fABCDEFGH',
  'a character that is not ASCII': 'DC02FR000001125E125E0126\u00e9',
  'a line feed': 'DC02FR000001125E125E0126\n',
} as const;
const requestInfo = der.sequence(
  der.integer(0),
  der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), der.utf8String('0001')))),
  der.sequence(),
  der.implicitConstructed(0, new Uint8Array()),
);
const bytes = (text: string): Buffer => Buffer.from(text, 'utf8');

let scratch: ScratchToken;
let operator: TokenClient;
let service: TokenClient;
const keys = new Map<string, { readonly id: KeyId; readonly spki: Buffer; readonly proof: Candidate }>();
let callers: { readonly id: KeyId; readonly proof: Candidate };

async function proofFor(id: KeyId, password: string): Promise<Candidate> {
  const secret = bytes(password);
  return { kind: 'PASSWORD', secret, scope, ...(await operator.makeMac(id, 'PASSWORD', secret, scope)), signs: true };
}

function keyOn(curve: string): { readonly id: KeyId; readonly spki: Buffer; readonly proof: Candidate } {
  const key = keys.get(curve);
  if (key === undefined) throw new Error('the key was not made');
  return key;
}

beforeAll(async () => {
  scratch = scratchToken();
  operator = new TokenClient(scratch.config, scratch.configPath, recordingLog(), () => undefined, { servesOperator: true });
  await operator.start();
  for (const curve of curves) {
    const id = newKeyId('identity');
    keys.set(curve, { id, spki: Buffer.from(await operator.createKey(id, curve)), proof: await proofFor(id, 'right') });
  }
  const id = newKeyId('caller');
  await operator.createKey(id, 'P-256');
  callers = { id, proof: await proofFor(id, 'right') };
  await operator.stop();
  service = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await service.start();
});

afterAll(async () => {
  await service.stop();
  scratch.remove();
});

describe("the key of a digital identity, in the service's host", () => {
  it.each(curves)('signs data zones on %s, hashed by the host, and OpenSSL verifies them', async (curve) => {
    const { id, spki, proof } = keyOn(curve);
    const all = Object.values(zones).map(bytes);
    const outcome = await service.signAsIdentity(id, algorithms[curve], all, { anyOf: [proof] });
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    expect(outcome).toMatchObject({ verified: true, by: 0 });
    const values = outcome.verified ? outcome.values : [];
    expect(values.map(({ length }) => length)).toEqual(all.map(() => ({ 'P-256': 64, 'P-384': 96, 'P-521': 132 })[curve]));
    for (const [index, value] of values.entries())
      expect(verify(algorithms[curve].hash, all[index] ?? Buffer.alloc(0), { key, dsaEncoding: 'ieee-p1363' }, value)).toBe(true);
  });

  it.each(Object.entries(notZones))('does not sign %s', async (_, text) => {
    const { id, proof } = keyOn('P-256');
    await expect(service.signAsIdentity(id, algorithms['P-256'], [bytes(text)], { anyOf: [proof] })).rejects.toThrow(/does not sign this/);
  });

  it('signs none of several messages of which one is no zone', async () => {
    const { id, proof } = keyOn('P-256');
    const signing = service.signAsIdentity(id, algorithms['P-256'], [bytes(zones['version 02']), bytes('text')], { anyOf: [proof] });
    await expect(signing).rejects.toThrow(/does not begin with the header/);
  });

  it('signs nothing without its own password', async () => {
    const { id, proof } = keyOn('P-256');
    const zone = [bytes(zones['version 02'])];
    for (const wrong of [{ ...proof, secret: bytes('wrong') }, { ...callers.proof }, keyOn('P-384').proof])
      expect(await service.signAsIdentity(id, algorithms['P-256'], zone, { anyOf: [wrong] })).toEqual({ verified: false });
    const unsigning = await service.signAsIdentity(id, algorithms['P-256'], zone, { anyOf: [{ ...proof, signs: false }] });
    expect(unsigning).toEqual({ verified: true, by: 0, values: [] });
  });

  it('signs no digests, with a proof or without one, and no message of the service', async () => {
    const { id, proof } = keyOn('P-256');
    const digest = createHash('sha256').update(zones['version 02']).digest();
    await expect(service.signWithProof(id, algorithms['P-256'], [digest], { anyOf: [proof] })).rejects.toThrow(/only data zones/);
    await expect(service.signDigests(id, algorithms['P-256'], [digest])).rejects.toThrow(/only data zones/);
    await expect(service.signAsService(id, algorithms['P-256'], bytes(zones['version 02']))).rejects.toThrow(/no purpose/);
    const message = { scheme: 'Ed25519' } as const;
    await expect(service.messages.signMessage(id, message, bytes(zones['version 02']))).rejects.toThrow(/not a key that signs messages/);
  });

  it('signs with ECDSA and SHA-2 only', async () => {
    const { id, proof } = keyOn('P-256');
    for (const wrong of [
      { scheme: 'ECDSA', hash: 'sha1' },
      { scheme: 'RSA_PKCS1', hash: 'sha256' },
    ] as const)
      await expect(service.signAsIdentity(id, wrong, [bytes(zones['version 02'])], { anyOf: [proof] })).rejects.toThrow(/ECDSA/);
  });

  it("is the only key that does: a caller's key signs no zone in this message", async () => {
    const zone = [bytes(zones['version 02'])];
    const signing = service.signAsIdentity(callers.id, algorithms['P-256'], zone, { anyOf: [callers.proof] });
    await expect(signing).rejects.toThrow(/not that of a digital identity/);
  });

  it("is made by operators' commands only, and on a curve; the service's host destroys it", async () => {
    await expect(service.createKey(newKeyId('identity'), 'P-256')).rejects.toThrow(/only an operator's command/);
    const { id } = keyOn('P-521');
    await service.destroyKey(id);
    expect((await service.listKeys()).map((key) => key.id)).not.toContain(id);
  });
});

describe('the form of a data zone', () => {
  it.each(Object.entries(zones))('is that of %s', (_, text) => {
    expect(identityFault(bytes(text), 'service')).toBeUndefined();
    expect(identityFault(bytes(text), 'operator')).toBeUndefined();
  });

  it("is not that of a certification request, which only an operator's command has signed", () => {
    expect(identityFault(Buffer.from(requestInfo), 'service')).toMatch(/does not begin/);
    expect(identityFault(Buffer.from(requestInfo), 'operator')).toBeUndefined();
    const certificate = der.sequence(der.explicit(0, der.integer(2)), der.integer(1));
    expect(identityFault(Buffer.from(certificate), 'operator')).toMatch(/does not sign this/);
    expect(identityFault(bytes('text'), 'operator')).toMatch(/does not begin/);
  });

  it('has a limit to its length', () => {
    const longest = Buffer.concat([bytes(zones['no fields']), Buffer.alloc(maxZoneBytes - 22, 0x41)]);
    expect(identityFault(longest, 'service')).toBeUndefined();
    expect(identityFault(Buffer.concat([longest, Buffer.from('A')]), 'service')).toMatch(/more than 8192 bytes/);
  });

  it('is never that of DER or of random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (random) => {
        for (const message of [random, der.sequence(random), der.set(random), der.octetString(random)])
          expect(identityFault(Buffer.from(message), 'service')).toBeTypeOf('string');
      }),
    );
  });
});

describe('the request for such a signature', () => {
  const id = newKeyId('identity');
  const proofs: Proofs = {
    anyOf: [{ kind: 'PASSWORD', salt: Buffer.alloc(16, 1), mac: Buffer.alloc(32, 2), secret: bytes('secret'), scope, signs: true }],
  };

  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), (messages) => {
        const read = readIdentitySign(writeIdentitySign(id, algorithms['P-384'], messages, proofs));
        expect(read).toMatchObject({ id, algorithm: algorithms['P-384'] });
        expect(read.messages.map((message) => [...message])).toEqual(messages.map((message) => [...message]));
        expect(read.proofs.anyOf.map(({ kind, signs }) => [kind, signs])).toEqual([['PASSWORD', true]]);
      }),
    );
  });

  it('is refused wherever it is cut', () => {
    const whole = writeIdentitySign(id, algorithms['P-256'], [bytes(zones['version 02'])], proofs);
    for (let length = 0; length < whole.length; length += 1) expect(() => readIdentitySign(whole.subarray(0, length))).toThrow();
    expect(() => writeIdentitySign(id, algorithms['P-256'], [Buffer.alloc(maxZoneBytes + 1)], proofs)).toThrow(RangeError);
  });
});
