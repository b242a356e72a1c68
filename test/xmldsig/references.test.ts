import { describe, expect, it } from 'vitest';
import { StepBudget } from '../../src/xml/step-budget.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';
import { elementsWithId } from '../../src/xmldsig/ids.ts';
import { canonicalRequest, ReferenceBroken, ReferenceUnknown, referenceDigest } from '../../src/xmldsig/references.ts';
import { readTransforms, withoutExpression } from '../../src/xmldsig/transforms.ts';
import { signatureAlgorithmOfUri, signatureMethodUri } from '../../src/xmldsig/algorithm-uris.ts';

const parse = (text: string): XmlDocument => XmlDocument.parse(Buffer.from(text));
const steps = (): StepBudget => new StepBudget(1_000_000);
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const ds = 'http://www.w3.org/2000/09/xmldsig#';

describe('an Id', () => {
  it('is the value of any attribute that a validator may take for one, also where references write it', () => {
    using document = parse('<r><a Id="x1"/><b ID="x2"/><c id="x3"/><d xml:id="x4"/><e Id="&#120;5"/><f p:iD=" x6 " xmlns:p="urn:p"/></r>');
    const names = ['x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x'].map((id) => elementsWithId(document, id).map((one) => document.localName(one)));
    expect(names).toEqual([['a'], ['b'], ['c'], ['d'], ['e'], ['f'], []]);
  });

  it('of several elements is found twice, and a reference to it does not resolve', () => {
    using document = parse('<r><a Id="x"/><b id="&#120;"/></r>');
    expect(elementsWithId(document, 'x').length).toBe(2);
    const request = (uri: string) => (): unknown =>
      canonicalRequest({ uri, transforms: [] }, { document, signature: undefined, budget: steps() });
    expect(request('#x')).toThrow(ReferenceBroken);
    expect(request("#xpointer(id('x'))")).toThrow(ReferenceBroken);
    expect(request('#y')).toThrow(ReferenceBroken);
    for (const uri of ['https://example.org/', 'a.xml', "#xpointer(//a)'"]) expect(request(uri)).toThrow();
  });

  it.each(['"', "'", `"'`, '', '&', 'x" or "1"="1'])('cannot change the search for it: %j', (id) => {
    using document = parse('<r><a Id="x"/></r>');
    expect(elementsWithId(document, id)).toEqual([]);
  });
});

describe('transforms', () => {
  const transform = (content: string): unknown => {
    using document = parse(`<ds:Reference xmlns:ds="${ds}" xmlns:p="urn:p"><ds:Transforms>${content}</ds:Transforms></ds:Reference>`);
    return readTransforms(document, document.root);
  };
  const xpath = (expression: string): string =>
    `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>${expression}</ds:XPath></ds:Transform>`;

  const canonical = (prefixes: string): string =>
    `<ds:Transform Algorithm="${exclusive}"><InclusiveNamespaces xmlns="${exclusive}" PrefixList="${prefixes}"/></ds:Transform>`;

  it('that leave out elements by name need no evaluation', () => {
    const names = [
      { namespace: ds, localName: 'Signature' },
      { namespace: 'urn:p', localName: 'Seal' },
      { namespace: undefined, localName: 'É' },
    ];
    const expression = withoutExpression([
      { prefix: 'ds', localName: 'Signature' },
      { prefix: 'p', localName: 'Seal' },
      { prefix: undefined, localName: 'É' },
    ]);
    expect(transform(xpath(expression))).toMatchObject([{ kind: 'WITHOUT', names }]);
    expect(transform(xpath(' not( ancestor-or-self::ds:Signature ) '))).toMatchObject([{ kind: 'WITHOUT', names: [names[0]] }]);
  });

  it('are read in a time that grows with their length alone', () => {
    // By backtracking, each of these takes minutes.
    const spaces = ' '.repeat(400_000);
    for (const inner of [`a${spaces}b`, `${spaces}a`, `a${spaces}or${spaces}b`, `a${spaces}o`])
      expect(transform(xpath(`not(${inner})`))).toMatchObject([{ kind: 'XPATH' }]);
    const prefixes = 'a '.repeat(400_000);
    expect(transform(canonical(prefixes))).toMatchObject([{ kind: 'CANONICAL', inclusivePrefixes: ['a'] }]);
    const different = Array.from({ length: 1001 }, (_, index) => `a${index}`).join(' ');
    expect(transform(canonical(different))).toMatchObject([{ kind: 'OTHER' }]);
  });

  it.each([
    'not(ancestor-or-self::ds:*)',
    'not(ancestor-or-self::ds:Signature) or true()',
    'not(ancestor-or-self::q:Seal)',
    'not(self::ds:Signature)',
  ])('that only look like them are evaluated: %s', (expression) => {
    expect(transform(xpath(expression))).toMatchObject([{ kind: 'XPATH', xpath: { expression, namespaces: { ds, p: 'urn:p' } } }]);
  });

  it('that this service does not know are named', () => {
    expect(transform('<ds:Transform Algorithm="urn:other"/>')).toEqual([{ kind: 'OTHER', uri: 'urn:other' }]);
    using document = parse('<r/>');
    const context = { document, signature: undefined, budget: steps() };
    expect(() => referenceDigest({ uri: '', transforms: [{ kind: 'OTHER', uri: 'urn:other' }] }, 'sha256', context)).toThrow(
      ReferenceUnknown,
    );
  });

  it('that leave out thousands of elements are evaluated where they are expressions, and refused where they are names', () => {
    using document = parse(`<r>${'<a/>'.repeat(1001)}<b/></r>`);
    const names = [{ namespace: undefined, localName: 'a' }];
    const context = { document, signature: undefined, budget: steps() };
    expect(() => canonicalRequest({ uri: '', transforms: [{ kind: 'WITHOUT', names }] }, context)).toThrow(
      'leaves out more than 1000 elements',
    );
    const same = { expression: 'not(ancestor-or-self::a)', namespaces: {} };
    const request = canonicalRequest({ uri: '', transforms: [{ kind: 'WITHOUT', names, xpath: same }] }, context);
    expect(document.canonical(request).toString()).toBe('<r><b></b></r>');
  });
});

it('each algorithm has one identifier', () => {
  for (const hash of ['sha1', 'sha256', 'sha384', 'sha512'] as const) {
    const saltBytes = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 }[hash];
    for (const algorithm of [
      { scheme: 'RSA_PKCS1', hash },
      { scheme: 'ECDSA', hash },
      { scheme: 'RSA_PSS', hash, mgfHash: hash, saltBytes },
    ] as const)
      expect(signatureAlgorithmOfUri(signatureMethodUri(algorithm))).toEqual(algorithm);
  }
  expect(signatureAlgorithmOfUri('urn:other')).toBeUndefined();
  expect(() => signatureMethodUri({ scheme: 'RSA_PSS', hash: 'sha256', mgfHash: 'sha1', saltBytes: 32 })).toThrow('no identifier');
});
