import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { documentFor, padesRequests } from '../../docs/pades-requests.ts';
import { call, codeOf, evidenceOf, messageOf, newKey, secretOf, type TestKey } from '../support/api.ts';
import { pdfSignatures, qpdfFindings } from '../support/pdf-judges.ts';

const requests = padesRequests();
let key: TestKey;
beforeAll(async () => {
  key = await newKey('other');
});

describe('docs/pades.md', () => {
  it('has a request under each heading that shows one, and a picture of each appearance', () => {
    expect(requests.length).toBeGreaterThanOrEqual(25);
    const pictures = requests.flatMap(({ picture }) => picture ?? []);
    expect(new Set(pictures).size).toBe(pictures.length);
    for (const picture of pictures) expect(existsSync(`docs/images/pades/${picture}.png`)).toBe(true);
    const shown = readFileSync('docs/pades.md', 'utf8').match(/\(images\/pades\/[\w-]+\.png\)/g);
    expect(shown).toHaveLength(pictures.length);
  });

  it.each(requests)('$heading: the request makes a signature that pdfsig and qpdf accept', async (request) => {
    const document = Buffer.from(documentFor(request));
    const answer = await call('other', 'signature/sign', {
      keyReference: secretOf(key),
      parameters: { XP7Signature: request.xp7 },
      inputDocuments: [{ ID: 'contract', fileName: 'contract.pdf', base64Data: { base64Value: document.toString('base64') } }],
    });
    expect([codeOf(answer), messageOf(answer)]).toEqual(['0/0', 'success']);
    const signed = evidenceOf(answer);
    expect(signed.subarray(0, document.length).equals(document)).toBe(true);
    expect(qpdfFindings(signed)).toEqual([]);
    const signatures = pdfSignatures(signed);
    expect(signatures.at(0)).toMatchObject({ validation: 'Signature is Valid.' });
    expect(signatures.at(-1)).toMatchObject({ coversAll: true });
  });
});
