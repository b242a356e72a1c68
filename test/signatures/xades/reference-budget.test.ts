import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
import { checkEarlierSignatures, holdingReferences } from '../../../src/signatures/xades/earlier-signatures.ts';
import { XmlDocument } from '../../../src/xml/xml-document.ts';

const transform = (expression: string): string =>
  `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>${expression}</ds:XPath></ds:Transform>`;

/** A document of 60 KB with one signature that nobody made; its references have these transforms and this URI. */
function documentWith(references: number, transforms: string, uri = ''): XmlDocument {
  const reference = `<ds:Reference URI="${uri}"><ds:Transforms>${transforms}</ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue>${'A'.repeat(43)}=</ds:DigestValue></ds:Reference>`;
  const signature = `<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>${reference.repeat(references)}</ds:SignedInfo><ds:SignatureValue>QQ==</ds:SignatureValue></ds:Signature>`;
  return XmlDocument.parse(Buffer.from(`<a>${'<e>abcdefghij0123456789</e>'.repeat(3000)}${signature}</a>`));
}

function refused(work: () => unknown): Refusal | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

const beyond = { code: 'UNSUPPORTED', text: expect.stringMatching(/beyond a limit of this service: .* more than \d+ steps/) as unknown };

describe('the references of existing signatures share what a document may cost', () => {
  it.each([
    ['texts', 'string-length(translate(string(/),"a","b"))>=0'],
    ['texts without functions', '/ = /*/e'],
    ['nodes', 'count(//*) > 0'],
    ['a little each', 'not(contains(., "zz")) and count(../*) > 0 and string-length(.) &lt; 100'],
  ])('beyond which they are refused: XPath with %s', (_what, expression) => {
    using document = documentWith(60, transform(expression));
    expect(refused(() => holdingReferences(document))).toMatchObject(beyond);
    expect(refused(() => checkEarlierSignatures(document))).toMatchObject({
      code: expect.stringMatching(/UNSUPPORTED|EXISTING_SIGNATURE_INVALID/) as unknown,
    });
  });

  it('beyond which they are refused: what is canonicalised', () => {
    using document = documentWith(1200, '');
    expect(refused(() => holdingReferences(document))).toMatchObject(beyond);
  });

  it('beyond which they are refused: searches of elements by their Id', () => {
    using document = documentWith(3000, '', '#SignedInfo');
    expect(refused(() => holdingReferences(document))).toMatchObject(beyond);
  });

  it('which is enough for those of documents that were signed often', () => {
    using document = documentWith(60, transform('not(ancestor-or-self::ds:Signature)'));
    expect(refused(() => holdingReferences(document))).toBeUndefined();
  });
});
