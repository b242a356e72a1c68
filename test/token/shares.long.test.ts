import { createHash, verify, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { newCertificate, OwnService } from '../support/own-service.ts';

const requests = 40;
const digests = 100;
const ofOther = 20;

const Key = z.object({ keyReference: z.object({ reference: z.string(), password: z.string() }) });
type KeyReference = z.output<typeof Key>['keyReference'];

const Signed = z.object({
  evidenceObjects: z.array(z.object({ document: z.object({ ID: z.string(), base64Data: z.object({ base64Value: z.string() }) }) })),
});

let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start();
}, 120_000);

afterAll(async () => {
  await service.remove();
});

async function newKey(client: string): Promise<KeyReference> {
  return Key.parse(JSON.parse(await service.post('pki/createCertificate', newCertificate(), client))).keyReference;
}

async function certificateOf({ reference }: KeyReference, client: string): Promise<X509Certificate> {
  const answer: unknown = JSON.parse(await service.post('pki/checkKey', { keyReference: { reference } }, client));
  return new X509Certificate(Buffer.from(z.object({ certificate: z.string() }).parse(answer).certificate, 'base64'));
}

/** Of digests of their own IDs. */
function rawSignatures(keyReference: KeyReference, count: number): object {
  const inputDocuments = Array.from({ length: count }, (_, index) => ({
    ID: `d${index}`,
    digest: { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update(`d${index}`).digest('base64') },
  }));
  return { keyReference, parameters: { rawSignature: {} }, inputDocuments };
}

it("a tenant's signatures do not wait for the hundreds that another tenant asked for before", async () => {
  const [many, few] = [await newKey('app'), await newKey('other')];
  let answered = 0;
  const crowd = Array.from({ length: requests }, async () => {
    const answer = await service.post('signature/sign', rawSignatures(many, digests), 'app');
    answered += 1;
    return answer;
  });
  // The token is at work on them.
  await Promise.race(crowd.slice(0, 1).concat(service.post('signature/sign', rawSignatures(few, 1), 'other')));
  for (let count = 0; count < ofOther; count += 1)
    expect(await service.post('signature/sign', rawSignatures(few, 1), 'other')).toContain('"resultMajor":0');
  expect(answered).toBeLessThan(requests / 2);
  // Each value is that of its own digest, although the token made them in several messages.
  const { publicKey } = await certificateOf(many, 'app');
  for (const answer of await Promise.all(crowd)) {
    const evidence = Signed.parse(JSON.parse(answer)).evidenceObjects;
    const areRight = evidence.map(({ document: { ID, base64Data } }) =>
      verify('sha256', Buffer.from(ID), publicKey, Buffer.from(base64Data.base64Value, 'base64')),
    );
    expect(areRight).toEqual(Array.from({ length: digests }, () => true));
  }
}, 300_000);
