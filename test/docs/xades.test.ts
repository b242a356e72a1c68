import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, codeOf, evidenceOf, messageOf, newKey, root, secretOf, textOf, type ApiAnswer, type TestKey } from '../support/api.ts';
import { zipEntries, filesOf } from '../support/zip-entries.ts';
import { xmlsecVerdict } from '../support/xmlsec.ts';

interface InputDocument {
  readonly ID: string;
  readonly fileName?: string;
  readonly plainData: { readonly plainValue: string };
}

interface Request {
  readonly parameters: {
    readonly envelopedXAdESSignature?: { readonly envelopedXAdESParameters?: Readonly<Record<string, string>> };
    readonly XP7Signature?: {
      readonly XP7Format: 'EXXP_7' | 'EGXXP_7' | 'DXXP_7';
      readonly XP7Providers?: { readonly DXXP7Parameters?: Readonly<Record<string, string | boolean>> };
    };
  };
  readonly inputDocuments: readonly InputDocument[];
}

const page = readFileSync('docs/xades.md', 'utf8');
/** Each request with the heading that it is under. */
const requests = page.split(/^##+ /m).flatMap((section) => {
  const heading = section.slice(0, section.indexOf('\n'));
  return Array.from(section.matchAll(/^```json\n(.*?)^```$/gms), ([, text = '']) => ({ heading, request: JSON.parse(text) as Request }));
});

let key: TestKey;
beforeAll(async () => {
  key = await newKey('other');
});

const anchor = readFileSync(root);
const verdict = (signature: Buffer, files: Readonly<Record<string, Buffer | string>> = {}): string =>
  xmlsecVerdict(signature, { root: anchor, idElements: ['part'], files });

/** The evidence of one document; text that is delivered as such too. */
function evidenceAt(answer: ApiAnswer, index: number): Buffer {
  const plain = answer.body['evidenceObjects']?.[index]?.['document']?.['plainData'];
  return plain === undefined ? evidenceOf(answer, index) : Buffer.from(textOf(plain['plainValue']));
}

describe('docs/xades.md', () => {
  it('has a request for every form, and under each heading that shows one', () => {
    const forms = requests.map(({ request: { parameters } }) => parameters.XP7Signature?.XP7Format ?? 'envelopedXAdESSignature');
    expect(new Set(forms)).toEqual(new Set(['envelopedXAdESSignature', 'EXXP_7', 'EGXXP_7', 'DXXP_7']));
    expect(requests.length).toBeGreaterThanOrEqual(14);
  });

  it.each(requests)('$heading: the request makes what xmlsec1 accepts', async ({ request }) => {
    const answer = await call('other', 'signature/sign', { keyReference: secretOf(key), ...request });
    expect([codeOf(answer), messageOf(answer)]).toEqual(['0/0', 'success']);
    const { parameters, inputDocuments } = request;
    const { signatureContainerType, manifestActivated } = parameters.XP7Signature?.XP7Providers?.DXXP7Parameters ?? {};
    const isDetached = parameters.XP7Signature?.XP7Format === 'DXXP_7';
    const hasOwnRoot = parameters.envelopedXAdESSignature?.envelopedXAdESParameters?.['signatureElementName'] !== undefined;
    expect(answer.body['evidenceObjects']).toHaveLength(isDetached ? 1 : inputDocuments.length);
    if (!isDetached) {
      for (const index of inputDocuments.keys()) {
        const evidence = evidenceAt(answer, index);
        if (hasOwnRoot) expect(verdict(evidence)).not.toBe('OK');
        else expect(verdict(evidence)).toBe('OK');
      }
      return;
    }
    const given = Object.fromEntries(
      inputDocuments.map(({ ID, fileName = ID, plainData }) => [fileName, Buffer.from(plainData.plainValue)]),
    );
    const entries = signatureContainerType === 'ZIP' ? zipEntries(evidenceAt(answer, 0)) : [];
    const files = signatureContainerType === 'ZIP' ? filesOf(entries) : given;
    const signature = signatureContainerType === 'ZIP' ? (entries.at(-1)?.content ?? Buffer.of()) : evidenceAt(answer, 0);
    expect(verdict(signature, files)).toBe('OK');
    const changed = Object.fromEntries(Object.keys(files).map((name) => [name, Buffer.from('changed')]));
    // Core validation does not check what a manifest lists.
    if (manifestActivated === true) expect(verdict(signature, changed)).toBe('OK');
    else expect(verdict(signature, changed)).not.toBe('OK');
  });

  it('states the names in containers as they are', async () => {
    const names = [];
    for (const { request } of requests) {
      if (request.parameters.XP7Signature?.XP7Providers?.DXXP7Parameters?.['signatureContainerType'] !== 'ZIP') continue;
      const answer = await call('other', 'signature/sign', { keyReference: secretOf(key), ...request });
      names.push(zipEntries(evidenceOf(answer)).map(({ name }) => name));
    }
    expect(names).toEqual([
      ['documents/contract.txt', 'documents/appendix.txt', 'signature.xml'],
      ['mimetype', 'contract.txt', 'META-INF/manifest.xml', 'META-INF/signatures.xml'],
      [
        expect.stringMatching(/^\d{8}T\d{6}Z\/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-contract\.txt$/),
        'signature.xml',
      ],
    ]);
  });
});
