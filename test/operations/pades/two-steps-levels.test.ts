import { createPrivateKey, randomBytes, randomUUID, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { AnsweringServer } from '../../support/answering-server.ts';
import { call, codeOf, description, evidenceOf, type ApiAnswer } from '../../support/api.ts';
import { encryptedPdf } from '../../support/encrypted-pdf.ts';
import { derOf } from '../../support/outside-signer.ts';
import { pdfSignatures, qpdfFindings } from '../../support/pdf-judges.ts';
import { ScratchAuthority, type CertificateFiles } from '../../support/scratch-authority.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { succeeds } from '../../support/succeeds.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-two-steps-'));
let outsideRoot: ScratchAuthority;
let person: CertificateFiles;
/** One for each test: what an address answered is remembered. */
const servers: AnsweringServer[] = [];

beforeAll(() => {
  outsideRoot = new ScratchAuthority(directory, 'Root');
  person = outsideRoot.issue('Person', { extendedKeyUsage: '' });
});
afterAll(() => {
  for (const server of servers) server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const pem = ({ certificate }: Pick<CertificateFiles, 'certificate'>): string => derOf(readFileSync(certificate, 'latin1'));
const byCrl = (...clientURL: readonly string[]) => ({ CRL: { URLSource: 'CLIENT', clientURL } });
const parameters = (list: string) => ({
  XP7Signature: {
    ...{ XP7Format: 'PXP_7', timeStamp: {} },
    longTermValidation: {
      signerRevocationDataSource: byCrl(list),
      signerRevocationValueChoice: 'CRL',
      // Of the chains of the signer and of the time-stamps.
      authoritiesRevocationDataSource: byCrl(list, `${description.publicUrl}/pki/root.crl`),
      authoritiesRevocationValueChoice: 'CRL',
      archiveTimeStamp: true,
    },
  },
});
const Prepared = z.object({
  signatureThreadId: z.string(),
  signerData: z.object({ digest: z.array(z.object({ dataToSign: z.string() })) }),
});

it.each([
  ['small', 1000, undefined],
  ['large', 2_000_000, undefined],
  ['large and encrypted', 2_000_000, 'opens the document of Camille'],
] as const)(
  'a file that is %s gets a signature of level LTA once the revocation data is there and the file too',
  async (_, bytes, password) => {
    const ballast = randomBytes(bytes / 2).toString('hex');
    const plain = smallPdf({ objects: [`<< /Length ${ballast.length} >>\nstream\n${ballast}\nendstream`] });
    const content = password === undefined ? plain : encryptedPdf(plain, { revision: 6, user: password, owner: 'that of the owner' });
    const filePath = join(description.readDirectory ?? '', `${randomUUID()}.pdf`);
    writeFileSync(filePath, content);
    const lists = await AnsweringServer.start(() => 503);
    servers.push(lists);
    const answer = await call('other', 'signature/remotePreSign', {
      ...{ parameters: parameters(lists.url), inputDocuments: [{ ID: 'd', filePathData: { filePath }, password }] },
      ...{ signerCertificate: pem(person), certificateChain: [pem(outsideRoot)] },
    });
    const { signatureThreadId, signerData } = Prepared.parse(succeeds(answer).body);
    const data = Buffer.from(signerData.digest[0]?.dataToSign ?? '', 'base64');
    const signatureValue = sign('sha256', data, createPrivateKey(readFileSync(person.key))).toString('base64');
    const complete = async (): Promise<ApiAnswer> =>
      call('other', 'signature/remoteSign', {
        ...{ signatureThreadId, signatureValues: { signatureValueMapping: [{ id: 'd', signatureValue }] } },
      });

    expect(codeOf(await complete())).toBe('2/233');
    lists.answering = () => Buffer.from(outsideRoot.revocationList());
    renameSync(filePath, `${filePath}.moved`);
    expect(codeOf(await complete())).toBe('2/242');
    renameSync(`${filePath}.moved`, filePath);
    const evidence = evidenceOf(succeeds(await complete()));
    expect(evidence.subarray(0, content.length).equals(content)).toBe(true);
    // This version of pdfsig reads no document time-stamps.
    expect(pdfSignatures(evidence, password)).toMatchObject([
      { type: 'ETSI.CAdES.detached', validation: 'Signature is Valid.', coversAll: false },
      { field: 'Signature2', coversAll: true },
    ]);
    expect(qpdfFindings(evidence, password)).toEqual([]);
    expect(evidence.includes('/DSS')).toBe(true);
  },
);
