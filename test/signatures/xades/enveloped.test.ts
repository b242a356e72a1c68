import { describe, expect, it } from 'vitest';
import { envelopedFormat } from '../../../src/signatures/xades/enveloped.ts';
import type { EnvelopedParameters } from '../../../src/signatures/xades/enveloped-state.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { chainOf, signingOf, softwareSigner, theOne, valueOf } from '../software-signer.ts';
import { canonicalisations } from '../../../src/xml/canonicalisation.ts';
import { documentNamed, enveloped, envelopedParameters, everywhere, signer } from './xades-signer.ts';
import { xmlsec1Verdicts } from './xmlsec1.ts';

const text = [
  '<?xml version="1.0" encoding="UTF-8"?>\r\n<!-- first --><a:doc xmlns:a="urn:example:a" xmlns="urn:example:b" xml:lang="fr">\r\n',
  '  <Part Id="p1"  z=\'1\'\tb="2">é &#13;<![CDATA[<x>]]> 𝄞<!-- c --><x/></Part><Empty attribute="&lt;>"/>\n</a:doc>\n<?end?>\n',
].join('');
const b = { b: 'urn:example:b' };
const atEmpty = { position: { expression: '//b:Empty', namespaces: b } };

const slow = '//*[count(//*[count(//*) > 0]) > 0]';
function slowDocument(): string {
  return `<a>${'<b/>'.repeat(3000)}</a>`;
}

const options: readonly Partial<EnvelopedParameters>[] = [
  {},
  { place: 'FIRST_CHILD' },
  atEmpty,
  { ...atEmpty, place: 'FIRST_CHILD' },
  { ...atEmpty, place: 'NEXT_SIBLING' },
  { signedNode: 'p1' },
  { signedNode: 'p1', canonicalisation: everywhere('EXC_C14N_WITH_COMMENTS') },
  { transformation: { expression: 'ancestor-or-self::b:Part', namespaces: b } },
  { transformation: { expression: "ancestor-or-self::b:Part[@b = '2'] or self::text()", namespaces: b } },
  { version: 'VERSION_1_1_1' },
  { version: 'VERSION_1_2_2' },
  { version: 'VERSION_1_4_1' },
  { prefix: 'etsi' },
  { ids: { signature: 'own-signature', signedProperties: 'own-properties', signatureValue: 'own-value' } },
  ...canonicalisations.map((algorithm) => ({ canonicalisation: everywhere(algorithm) })),
];

describe('an enveloped signature', () => {
  it.each(options.map((more) => ({ name: JSON.stringify(more), more })))('verifies with xmlsec1: $name', ({ more }) => {
    expect(xmlsec1Verdicts(enveloped(text, more))).toEqual(['OK']);
    expect(xmlsec1Verdicts(Buffer.from(enveloped(text, more).toString().replace('é', 'è')))).not.toEqual(['OK']);
  });

  it('leaves room for a second and a third one, by other options', () => {
    for (const [index, more] of options.entries()) {
      const second = enveloped(enveloped(text, more), options[(index + 5) % options.length]);
      expect(xmlsec1Verdicts(enveloped(second, { place: 'FIRST_CHILD' }))).toEqual(['OK', 'OK', 'OK']);
    }
  });

  it('under a root element of the caller leaves room for a usual one, and is refused after one that does not spare it', () => {
    for (const root of [
      { namespace: 'urn:example:seal', localName: 'Seal' },
      { namespace: undefined, localName: 'Seal' },
    ]) {
      expect(xmlsec1Verdicts(enveloped(enveloped(text, { root })))).toEqual(['OK']);
      expect(() => enveloped(enveloped(text), { root })).toThrow('an existing signature covers the place of the new one');
      expect(() => enveloped(enveloped(text, { root }), { root: { ...root, localName: 'Stamp' } })).toThrow('an existing signature covers');
      // The same children under the usual name: only the name keeps xmlsec1 from judging it.
      expect(enveloped(text, { root }).toString()).toMatch(/<(?:sig:)?Seal [^>]*><ds:SignedInfo>/);
    }
  });

  it('is the only change to the bytes of the document', () => {
    for (const more of options) {
      const [signed, original] = [enveloped(text, more).toString(), text];
      const without = signed.replace(/<ds:Signature.*<\/ds:Signature>/s, '');
      expect(without.replace('<Empty attribute="&lt;>"></Empty>', '<Empty attribute="&lt;>"/>')).toBe(original);
    }
  });

  it.each([
    ['UTF-16LE', Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from(text.replace('UTF-8', 'UTF-16'), 'utf16le')])],
    ['UTF-16BE', Buffer.concat([Buffer.of(0xfe, 0xff), Buffer.from(text.replace('UTF-8', 'UTF-16'), 'utf16le').swap16()])],
    ['UTF-8 with a mark', Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), Buffer.from(text)])],
    ['ISO-8859-1', Buffer.from(text.replace('UTF-8', 'ISO-8859-1').replace('𝄞', ''), 'latin1')],
  ])('keeps the encoding of the document: %s', (_name, document) => {
    const signed = enveloped(document, atEmpty);
    expect(xmlsec1Verdicts(signed)).toEqual(['OK']);
    const difference = signed.findIndex((byte, index) => byte !== document[index]);
    expect(signed.subarray(0, difference)).toEqual(document.subarray(0, difference));
    const end = document.length - signed.length;
    let same = 0;
    while (signed.at(-1 - same) === document.at(-1 - same) && same < document.length) same += 1;
    expect(end).toBeLessThan(0);
    // Only the end of the empty tag gave way.
    expect(document.length - difference - same).toBeLessThanOrEqual(4);
  });

  it('has a name of a document in another encoding than UTF-8 in its new end tag', () => {
    const document = Buffer.from('<?xml version="1.0" encoding="ISO-8859-15"?><É prix="10 \xa4"/>'.replace('É', '\xc9'), 'latin1');
    const signed = enveloped(document);
    expect(xmlsec1Verdicts(signed)).toEqual(['OK']);
    expect(signed.subarray(-4)).toEqual(Buffer.from('</\xc9>', 'latin1'));
  });

  it('uses prefixes that the document declares where the signature is', () => {
    const prefixed = '<d:doc xmlns:d="urn:example:d"><d:Part>1</d:Part><d:Other/></d:doc>';
    const transformation = { expression: 'ancestor-or-self::d:Part', namespaces: {} };
    const position = { expression: '/d:doc/d:Other', namespaces: {} };
    const signed = enveloped(prefixed, { transformation, position });
    expect(xmlsec1Verdicts(signed)).toEqual(['OK']);
    expect(xmlsec1Verdicts(Buffer.from(signed.toString().replace('<d:Other>', '<d:Other a="1">')))).toEqual(['OK']);
    expect(xmlsec1Verdicts(Buffer.from(signed.toString().replace('>1<', '>2<')))).not.toEqual(['OK']);
  });

  it('is the same for the same input', () => {
    const parameters = envelopedParameters({ seed: 'the same' });
    const now = new Date();
    const [first, second] = [0, 1].map(() => envelopedFormat.prepare([documentNamed(text)], parameters, chainOf(signer), { now }));
    expect(first).toEqual(second);
  });

  it('is not completed with a value of another key, or another document', () => {
    const prepared = theOne(envelopedFormat.prepare([documentNamed(text)], envelopedParameters(), chainOf(signer), { now: new Date() }));
    const wrong = valueOf(softwareSigner('another'), prepared);
    expect(() => envelopedFormat.complete(prepared, wrong, signingOf(signer))).toThrow('does not verify');
    const right = valueOf(signer, prepared);
    const changed = { ...prepared, contents: [Buffer.from(text.replace('é', 'è'))] };
    expect(() => envelopedFormat.complete(changed, right, signingOf(signer))).toThrow('does not cover the content');
  });
});

describe('an enveloped signature is refused', () => {
  it.each<[string, string, Partial<EnvelopedParameters>, string, string]>([
    ['without the signed element', text, { signedNode: 'p2' }, 'DOCUMENT_INVALID', 'no element of the document has the Id "p2"'],
    [
      'with the signed element twice',
      text.replace('<x/>', '<x ID="p1"/>'),
      { signedNode: 'p1' },
      'DOCUMENT_INVALID',
      'several elements of the document have',
    ],
    [
      'if the XPath selects nothing',
      text,
      { transformation: { expression: 'self::none', namespaces: {} } },
      'DOCUMENT_INVALID',
      'selects nothing',
    ],
    [
      'if the XPath selects no place',
      text,
      { position: { expression: '//none', namespaces: {} } },
      'DOCUMENT_INVALID',
      'selects no element',
    ],
    [
      'if a prefix is unknown',
      text,
      { position: { expression: '//q:none', namespaces: {} } },
      'DOCUMENT_INVALID',
      'Undefined namespace prefix',
    ],
    [
      'beside the root',
      text,
      { position: { expression: '/*', namespaces: {} }, place: 'NEXT_SIBLING' },
      'FIELDS_INCONSISTENT',
      'only one root',
    ],
    ['with an Id of the document', text, { ids: { signature: 'p1' } }, 'DOCUMENT_INVALID', 'already has an element with this Id'],
    ['with a DOCTYPE', '<!DOCTYPE a>\n<a/>', {}, 'DOCUMENT_INVALID', 'a DOCTYPE is not allowed (line 1, column 1)'],
    [
      'if it is not well formed',
      '<a>\n<b></a>',
      {},
      'DOCUMENT_INVALID',
      'Opening and ending tag mismatch: b line 2 and a (line 2, column 8)',
    ],
    [
      'in an unknown encoding',
      '<?xml version="1.0" encoding="EBCDIC"?><a/>',
      {},
      'DOCUMENT_INVALID',
      'the encoding EBCDIC is not supported',
    ],
    ['if nothing is left to sign', '<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"/>', {}, 'DOCUMENT_INVALID', 'nothing to sign'],
    [
      'with a namespace that is canonicalised in two ways',
      '<a xmlns="urn:x?a&amp;b"/>',
      {},
      'DOCUMENT_INVALID',
      'canonicalise differently',
    ],
    ['with a relative namespace', '<a xmlns="relative"/>', {}, 'DOCUMENT_INVALID', 'has no canonical form'],
    [
      'with bases that Canonical XML 1.1 joins',
      '<r xml:base="http://example.org/a"><e xml:base="../b"/></r>',
      { position: { expression: '//e', namespaces: {} }, canonicalisation: everywhere('C14N_11') },
      'DOCUMENT_INVALID',
      'the document has xml:base',
    ],
    ['without content', '', {}, 'DOCUMENT_INVALID', 'empty'],
    [
      'for an XPath that is slow',
      slowDocument(),
      { position: { expression: slow, namespaces: {} } },
      'DOCUMENT_INVALID',
      'takes more than',
    ],
  ])('%s', (_name, document, more, code, message) => {
    let refusal: unknown;
    try {
      enveloped(document, more);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ code, text: expect.stringContaining(message) as string });
  });

  it.each([
    ['signature', 'signatureId'],
    ['signedProperties', 'signedPropertiesId'],
    ['signatureValue', 'signatureValueId'],
  ])('with an Id of the document, which it names: %s', (name, member) => {
    let refusal: unknown;
    try {
      enveloped(text, { ids: { [name]: 'p1' } });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({ code: 'DOCUMENT_INVALID', at: `/parameters/${member}` });
  });
});
