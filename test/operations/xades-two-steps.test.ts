import { createHash } from 'node:crypto';
import { unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, codeOf, contentDocument, description, evidenceOf, messageOf, textOf, type ApiAnswer } from '../support/api.ts';
import { insertedBytes } from '../support/inserted-bytes.ts';
import {
  derOf,
  outsideAuthority,
  rawEcdsa,
  signOutside,
  type OutsideAlgorithm,
  type OutsideAuthority,
  type OutsideSigner,
} from '../support/outside-signer.ts';
import { filesOf, zipEntries } from '../support/zip-entries.ts';
import { xmlsecVerdict } from '../support/xmlsec.ts';
import { succeeds } from '../support/succeeds.ts';

let authority: OutsideAuthority;
let signers: Record<'RSA-2048' | 'P-256', OutsideSigner>;
beforeAll(() => {
  authority = outsideAuthority();
  signers = { 'RSA-2048': authority.certify('RSA-2048'), 'P-256': authority.certify('P-256') };
});

interface Entry {
  readonly id: string;
  readonly digestValue: string;
  readonly dataToSign?: string;
}
interface Opened {
  readonly signatureThreadId: string;
  readonly entries: readonly Entry[];
}

const open = async (signer: OutsideSigner, parameters: object, inputDocuments: readonly object[]): Promise<Opened> => {
  const answer = await call('app', 'signature/remotePreSign', {
    ...{ parameters, inputDocuments },
    signerCertificate: derOf(signer.certificate),
    certificateChain: [derOf(authority.issuer), derOf(authority.root)],
  });
  succeeds(answer);
  const { signatureThreadId, signerData } = answer.body;
  return { signatureThreadId: textOf(signatureThreadId), entries: signerData?.['digest'] as unknown as Entry[] };
};
const complete = async ({ signatureThreadId }: Opened, values: Readonly<Record<string, string>>, more: object = {}): Promise<ApiAnswer> =>
  call('app', 'signature/remoteSign', {
    signatureThreadId,
    signatureValues: { signatureValueMapping: Object.entries(values).map(([id, signatureValue]) => ({ id, signatureValue })) },
    ...more,
  });
const valuesOf = ({ entries }: Opened, signer: OutsideSigner, algorithm: OutsideAlgorithm): Record<string, string> =>
  Object.fromEntries(entries.map(({ id, digestValue }) => [id, signOutside(signer, digestValue, algorithm)]));
const verdict = (document: Buffer | undefined, files: Readonly<Record<string, Buffer>> = {}): string =>
  xmlsecVerdict(document ?? '', { root: authority.root, files });

const texts = ['<a>\r\n one é</a>', '<b><c/></b>\n'];
const documents = texts.map((text, index) => contentDocument(text, `document ${index}`));
const files = Object.fromEntries(texts.map((text, index) => [`document ${index}`, Buffer.from(text)]));
const xp7 = (XP7Format: string, own: object = {}, more: object = {}): object => ({
  XP7Signature: { XP7Format, XP7Providers: { [XP7Format.replace('_7', '7Parameters')]: own }, ...more },
});
const isOne = (form: string): boolean => form.startsWith('DXXP_7');
const forms: readonly [string, (more: object) => object][] = [
  ['envelopedXAdESSignature', (more) => ({ envelopedXAdESSignature: more })],
  ['EXXP_7', (more) => xp7('EXXP_7', {}, more)],
  ['EGXXP_7', (more) => xp7('EGXXP_7', {}, more)],
  ['DXXP_7', (more) => xp7('DXXP_7', {}, more)],
  ['DXXP_7 with a manifest', (more) => xp7('DXXP_7', { manifestActivated: true }, more)],
  ['DXXP_7 in a ZIP container', (more) => xp7('DXXP_7', { signatureContainerType: 'ZIP' }, more)],
  [
    'DXXP_7 in an ASiC-E container',
    (more) => xp7('DXXP_7', { signatureContainerType: 'ZIP', zipSignatureFileName: 'META-INF/signatures.xml' }, more),
  ],
];
/** What xmlsec1 says of each signature of an answer. */
function verdicts(form: string, answer: ApiAnswer): string[] {
  if (!isOne(form)) return documents.map((_, index) => verdict(evidenceOf(answer, index)));
  if (!form.includes('container')) return [verdict(evidenceOf(answer), files)];
  const entries = zipEntries(evidenceOf(answer));
  return [verdict(entries.at(-1)?.content, filesOf(entries))];
}

describe.each(forms)('%s in two steps', (form, parametersOf) => {
  it.each<['RSA-2048' | 'P-256', OutsideAlgorithm, object]>([
    ['RSA-2048', { hash: 'sha256' }, {}],
    ['RSA-2048', { hash: 'sha512' }, { digestAlgorithm: 'SHA_512' }],
    ['P-256', { hash: 'sha256' }, {}],
    ['P-256', { hash: 'sha256' }, { timeStamp: {} }],
  ])('of %s with %o %o is accepted by xmlsec1', async (type, algorithm, more) => {
    const signer = signers[type];
    const opened = await open(signer, parametersOf(more), documents);
    expect(opened.entries.map(({ id }) => id)).toEqual(isOne(form) ? ['document 0'] : ['document 0', 'document 1']);
    for (const { digestValue, dataToSign = '' } of opened.entries) {
      const signedInfo = Buffer.from(dataToSign, 'base64');
      expect(signedInfo.toString()).toMatch(/^<ds:SignedInfo .*<\/ds:SignedInfo>$/);
      expect(createHash(algorithm.hash).update(signedInfo).digest('base64')).toBe(digestValue);
    }
    const answer = await complete(opened, valuesOf(opened, signer, algorithm));
    succeeds(answer);
    expect(answer.body['evidenceObjects']).toHaveLength(isOne(form) ? 1 : 2);
    for (const one of verdicts(form, answer)) expect(one).toBe('OK');
  });

  it('takes ECDSA values as r‖s too', async () => {
    const signer = signers['P-256'];
    const opened = await open(signer, parametersOf({}), documents);
    const values = Object.entries(valuesOf(opened, signer, { hash: 'sha256' })).map(([id, value]) => [id, rawEcdsa(value, 'P-256')]);
    const answer = await complete(opened, Object.fromEntries(values) as Record<string, string>);
    expect(codeOf(answer)).toBe('0/0');
    for (const one of verdicts(form, answer)) expect(one).toBe('OK');
  });

  it('keeps the session open after a wrong value, a wrong id and a wrong output, and completes it once', async () => {
    const signer = signers['P-256'];
    const opened = await open(signer, parametersOf({}), documents);
    const values = valuesOf(opened, signer, { hash: 'sha256' });
    const wrong = signOutside(signer, createHash('sha256').update('other').digest('base64'), { hash: 'sha256' });
    const refused = await complete(opened, { ...values, 'document 0': wrong });
    expect([codeOf(refused), messageOf(refused)]).toEqual(['2/222', expect.stringContaining('"document 0"')]);
    expect(codeOf(await complete(opened, { ...values, another: wrong }))).toBe('1/103');
    const plain = { optionalInputs: { evidenceOutput: { outputMode: 'PLAIN' } } };
    const asText = await complete(opened, values, plain);
    expect(codeOf(asText)).toBe(form.includes('container') ? '1/104' : '0/0');
    const last = await complete(opened, values);
    expect(codeOf(last)).toBe(form.includes('container') ? '0/0' : '2/221');
    expect(codeOf(await complete(opened, values))).toBe('2/221');
  });
});

describe('between the two steps', () => {
  it('the document is kept, byte for byte: its file may go', async () => {
    const filePath = join(description.readDirectory ?? '', 'between.xml');
    const content = Buffer.from(`<?xml version='1.0'?>\r\n<a  b='1'>${'<c>é</c>\n'.repeat(50_000)}</a>\r\n`);
    for (const [form, own] of [
      ['EXXP_7', {}],
      ['EGXXP_7', {}],
      ['DXXP_7', { signatureContainerType: 'ZIP' }],
    ] as const) {
      writeFileSync(filePath, content);
      const opened = await open(signers['P-256'], xp7(form, own), [{ ID: 'd', filePathData: { filePath } }]);
      unlinkSync(filePath);
      const answer = await complete(opened, valuesOf(opened, signers['P-256'], { hash: 'sha256' }));
      expect([form, codeOf(answer), messageOf(answer)]).toEqual([form, '0/0', 'success']);
      if (form === 'EXXP_7') expect(insertedBytes(content, evidenceOf(answer))?.bytes.toString()).toContain('<ds:Signature ');
      if (form === 'DXXP_7') expect(zipEntries(evidenceOf(answer))[0]?.content.equals(content)).toBe(true);
    }
  });

  it('remotePreSign refuses what sign refuses', async () => {
    const asked = { inputDocuments: documents, signerCertificate: derOf(signers['P-256'].certificate) };
    const refusals: readonly [string, object, object][] = [
      ['1/105', xp7('EXXP_7', { signedNode: 'nowhere' }), {}],
      ['1/105', xp7('EXXP_7'), { inputDocuments: [contentDocument('<!DOCTYPE a><a/>')] }],
      ['1/102', xp7('EXXP_7', { xpathSignaturePosition: '[' }), {}],
      ['1/103', xp7('DXXP_7', { signatureContainerType: 'ZIP', zipDirectoryActivated: true }), {}],
      ['1/104', xp7('EGXXP_7', { xadesVersion: 'VERSION_1_1_1' }, { timeStamp: {}, longTermValidation: {} }), {}],
      ['1/101', xp7('DXXP_7'), { signerCertificate: undefined }],
    ];
    for (const [code, parameters, more] of refusals)
      expect(codeOf(await call('app', 'signature/remotePreSign', { ...asked, parameters, ...more }))).toBe(code);
  });
});
