import { createHash, createPrivateKey, sign as signValue } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../src/asn1/byte-source.ts';
import { PdfDictionary } from '../../../src/pdf/objects.ts';
import { PdfFile } from '../../../src/pdf/pdf-file.ts';
import { AnsweringServer } from '../../support/answering-server.ts';
import {
  call,
  codeOf,
  contentDocument,
  description,
  evidenceOf,
  messageOf,
  newKey,
  secretOf,
  textOf,
  type ApiAnswer,
  type TestKey,
} from '../../support/api.ts';
import { openssl } from '../../support/openssl.ts';
import { derOf } from '../../support/outside-signer.ts';
import { encryptedPdf } from '../../support/encrypted-pdf.ts';
import { inObjectStreams, taggedPdf } from '../../support/pdf-forms.ts';
import { pdfSignatures, qpdfFindings } from '../../support/pdf-judges.ts';
import { ScratchAuthority, type CertificateFiles } from '../../support/scratch-authority.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { succeeds } from '../../support/succeeds.ts';

const client = 'other';
const directory = mkdtempSync(join(tmpdir(), 'signetd-pades-'));
const servers: AnsweringServer[] = [];
let key: TestKey;
beforeAll(async () => {
  key = await newKey(client);
});
afterAll(() => {
  for (const server of servers) server.stop();
  rmSync(directory, { recursive: true, force: true });
});

type Level = 'B' | 'T' | 'LT' | 'LTA';
const levels: Readonly<Record<Level, object>> = {
  B: {},
  T: { timeStamp: {} },
  LT: { timeStamp: {}, longTermValidation: {} },
  LTA: { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } },
};
const parametersOf = (level: Level, own: object = {}, more: object = {}): object => ({
  XP7Signature: { XP7Format: 'PXP_7', ...levels[level], ...more, XP7Providers: { PXP7Parameters: own } },
});
const sign = async (pdf: Buffer, parameters: object, password?: string): Promise<ApiAnswer> =>
  call(client, 'signature/sign', {
    ...{ keyReference: secretOf(key), parameters },
    inputDocuments: [{ ...contentDocument(pdf), ...(password === undefined ? {} : { password }) }],
  });
const signed = async (pdf: Buffer, level: Level, own: object = {}): Promise<Buffer> => {
  const made = evidenceOf(succeeds(await sign(pdf, parametersOf(level, own))));
  expect(made.subarray(0, pdf.length).equals(pdf)).toBe(true);
  return made;
};
/** Makes the value with the key of the signer, and completes the session. */
async function completed(prepared: ApiAnswer, { key: file }: CertificateFiles): Promise<ApiAnswer> {
  const [entry] = (succeeds(prepared).body['signerData'] as unknown as { digest: { id: string; dataToSign: string }[] }).digest;
  const value = signValue('sha256', Buffer.from(entry?.dataToSign ?? '', 'base64'), createPrivateKey(readFileSync(file)));
  return call(client, 'signature/remoteSign', {
    signatureThreadId: textOf(prepared.body['signatureThreadId']),
    signatureValues: { signatureValueMapping: [{ id: entry?.id, signatureValue: value.toString('base64') }] },
  });
}
const told = (answer: ApiAnswer): [string, string] => [codeOf(answer), messageOf(answer)];
/** The document security store of a file; undefined if it has none. */
function storeOf(pdf: Buffer): PdfDictionary | undefined {
  const file = new PdfFile(bytesInMemory(pdf), undefined);
  const store = file.get(file.catalog, 'DSS');
  return store instanceof PdfDictionary ? store : undefined;
}
const countOf = (words: string, within: Buffer): number => within.toString('latin1').split(words).length - 1;

describe('a PAdES signature at a level above baseline B', () => {
  it.each(
    (['T', 'LT', 'LTA'] as const).flatMap((level) =>
      [
        ['with a cross-reference table', smallPdf()] as const,
        ['with object streams', inObjectStreams(smallPdf())] as const,
        ['that is tagged', taggedPdf()] as const,
        ['encrypted with AES-256', encryptedPdf(smallPdf(), { revision: 6, user: '', owner: 'owner' })] as const,
        ['encrypted with AES-128', encryptedPdf(inObjectStreams(smallPdf()), { revision: 4, user: '', owner: 'owner' })] as const,
      ].map(([name, pdf]) => [level, name, pdf] as const),
    ),
  )('%s, in a file %s, holds what the level needs, and pdfsig and qpdf accept it', async (level, _, pdf) => {
    const made = await signed(pdf, level);
    expect(pdfSignatures(made).map(({ type, validation }) => [type, validation])).toContainEqual([
      'ETSI.CAdES.detached',
      'Signature is Valid.',
    ]);
    expect(qpdfFindings(made)).toEqual([]);
    expect(storeOf(made) !== undefined).toBe(level !== 'T');
    expect(countOf('/SubFilter /ETSI.RFC3161', made)).toBe(level === 'LTA' ? 1 : 0);
  });

  it('is made in two steps in a file with a password', async () => {
    const root = new ScratchAuthority(directory, 'Root');
    const person = root.issue('Person', { extendedKeyUsage: '' });
    const lists = await AnsweringServer.start(() => Buffer.from(root.revocationList()));
    servers.push(lists);
    const CRL = { URLSource: 'CLIENT', clientURL: [lists.url, `${description.publicUrl}/pki/root.crl`] };
    const revocationData = { signerCertificate: { CRL }, authorityCertificates: { CRL } };
    const pdf = encryptedPdf(smallPdf(), { revision: 6, user: 'secret', owner: 'owner' });
    const prepared = await call(client, 'signature/remotePreSign', {
      parameters: parametersOf('LTA', { revocationData }),
      inputDocuments: [{ ...contentDocument(pdf), password: 'secret' }],
      signerCertificate: derOf(readFileSync(person.certificate, 'latin1')),
      certificateChain: [derOf(readFileSync(root.certificate, 'latin1'))],
    });
    const made = evidenceOf(succeeds(await completed(prepared, person)));
    expect(pdfSignatures(made, 'secret').map(({ validation }) => validation)).toContain('Signature is Valid.');
    expect(qpdfFindings(made, 'secret')).toEqual([]);
    expect(countOf('/SubFilter /ETSI.RFC3161', made)).toBe(1);
    expect(told(await sign(made, parametersOf('LTA')))).toEqual(['2/236', expect.any(String)]);
    succeeds(await sign(made, parametersOf('LTA'), 'secret'));
  });

  it('of the format BASIC is possible at level T', async () => {
    const made = await signed(smallPdf(), 'T', { signatureFormat: 'BASIC' });
    expect(pdfSignatures(made)).toMatchObject([{ type: 'adbe.pkcs7.detached', validation: 'Signature is Valid.', coversAll: true }]);
  });

  it('adds to the store of an earlier one what it lacks, and names its data in VRI only if it lacks nothing', async () => {
    let pdf = smallPdf();
    const counts: unknown[] = [];
    for (const level of ['LT', 'LTA', 'LTA'] as const) {
      pdf = await signed(pdf, level);
      const store = storeOf(pdf) ?? new PdfDictionary();
      const file = new PdfFile(bytesInMemory(pdf), undefined);
      const lists = ['Certs', 'OCSPs', 'CRLs'].map((name) => {
        const list = file.get(store, name);
        return Array.isArray(list) ? list.length : 0;
      });
      const related = file.get(store, 'VRI');
      counts.push([...lists, related instanceof PdfDictionary ? related.entries().map(([name]) => name) : []]);
    }
    const keyName = expect.stringMatching(/^[0-9A-F]{40}$/) as string;
    expect(counts[0]).toEqual([expect.any(Number), expect.any(Number), 0, []]);
    const [certificates, answers] = counts[0] as [number, number];
    expect(counts.slice(1)).toEqual([
      [certificates, answers, 0, [keyName]],
      [certificates, answers, 0, [keyName, keyName]],
    ]);
    // The key is the digest of the decoded Contents, as they stand in the file.
    const [, , , names] = counts[2] as [number, number, number, string[]];
    const contents = Array.from(
      pdf.toString('latin1').matchAll(/\/SubFilter \/ETSI\.CAdES\.detached.*?\/Contents <([0-9a-f]+)>/gs),
      ([, hex = '']) => createHash('sha1').update(Buffer.from(hex, 'hex')).digest('hex').toUpperCase(),
    );
    expect(contents).toHaveLength(3);
    expect(names).toEqual(contents.slice(1));
  });

  it('puts its archive time-stamp into its own room, whatever the page has that looks like one', async () => {
    const annotation = `<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents <00${'41'.repeat(40_000)}> >>`;
    const made = await signed(smallPdf({ page: `/Annots [${annotation}]` }), 'LTA');
    expect(pdfSignatures(made)[0]).toMatchObject({ validation: 'Signature is Valid.' });
    expect(countOf(`/Contents <00${'41'.repeat(40_000)}>`, made)).toBeGreaterThan(0);
  });

  it.each([
    ['that is no list of streams', '/DSS << /Certs [11 0 R] >>', ['<< /Length 5 /Filter /FlateDecode >>\nstream\nwrong\nendstream']],
    ['that is too large', `/DSS << /CRLs [${'12 0 R '.repeat(10_001)}] >>`, ['<< /Length 1 >>\nstream\n0\nendstream']],
  ])('is refused for a file with a store %s, and the key signs others', async (_, catalog, objects) => {
    const pdf = smallPdf({ catalog: catalog.replaceAll('11 0 R', '12 0 R'), objects });
    expect(told(await sign(pdf, parametersOf('LT')))).toEqual(['1/105', expect.stringContaining('/inputDocuments/0')]);
    expect(codeOf(await sign(pdf, parametersOf('T')))).toBe('0/0');
  });

  it('keeps the store that stands in the catalog, and the entries that it does not know', async () => {
    const pdf = smallPdf({ catalog: '/DSS << /Certs 12 0 R /Other (kept) /VRI << /A << >> >> >>', objects: ['[]'] });
    const store = storeOf(await signed(pdf, 'LT'));
    expect(store?.entries().map(([name]) => name)).toEqual(expect.arrayContaining(['Certs', 'OCSPs', 'Other', 'VRI']));
  });
});

describe('a time-stamp that is larger than its room', () => {
  it('is 2/232, and the session stays open', async () => {
    const root = new ScratchAuthority(directory, 'Root');
    const extensions = [`nsComment=${'x'.repeat(17_000)}`];
    const large = root.issue('Stamper', { extendedKeyUsage: 'critical,timeStamping', extensions });
    const small = root.issue('Stamper', { extendedKeyUsage: 'critical,timeStamping' });
    const person = root.issue('Person', { extendedKeyUsage: '' });
    let stamper = large;
    const configuration = '[tsa]\ndefault_tsa=here\n[here]\nserial=serial\ndefault_policy=1.2.3\ndigests=sha256\nsigner_digest=sha256\n';
    const authority = await AnsweringServer.start((request) =>
      openssl(
        ['ts', '-reply', '-config', '{config}', '-queryfile', '{request}', '-signer', '{cert}', '-inkey', '{key}', '-out', '{answer}'],
        { config: configuration, serial: '01\n', request, cert: readFileSync(stamper.certificate), key: readFileSync(stamper.key) },
        'answer',
      ),
    );
    servers.push(authority);
    const parameters = parametersOf('T', {}, { timeStamp: { URLSource: 'CLIENT', clientURL: [authority.url] } });
    const prepared = await call(client, 'signature/remotePreSign', {
      ...{ parameters, inputDocuments: [contentDocument(smallPdf())] },
      signerCertificate: derOf(readFileSync(person.certificate, 'latin1')),
      certificateChain: [derOf(readFileSync(root.certificate, 'latin1'))],
    });
    expect(told(await completed(prepared, person))).toEqual([
      '2/232',
      expect.stringMatching(/^the time-stamp has 1\d{4} bytes, but a PDF signature has room for 16384$/),
    ]);
    stamper = small;
    expect(told(await completed(prepared, person))).toEqual(['0/0', 'success']);
  });
});
