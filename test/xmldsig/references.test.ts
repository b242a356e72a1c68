import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Canonicalisation } from '../../src/xml/canonicalisation.ts';
import { StepBudget } from '../../src/xml/step-budget.ts';
import { XmlDocument } from '../../src/xml/xml-document.ts';
import { XmlLimitFault } from '../../src/xml/xml-fault.ts';
import { elementsWithId } from '../../src/xmldsig/ids.ts';
import {
  canonicalRequest,
  elementsNamed,
  ReferenceBroken,
  ReferenceUnknown,
  referenceDigest,
  selectsNothing,
} from '../../src/xmldsig/references.ts';
import { readTransforms, signatureName, withoutExpression, type Transform } from '../../src/xmldsig/transforms.ts';
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
    using document = parse('<r><a Id="x"/><b Id=""/></r>');
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
    'not(ancestor-or-self::ds:Signature or)',
    'not(ancestor-or-self::ds:Signature and ancestor-or-self::ds:Signature)',
    'not(ancestor-or-self::ds:Signature ancestor-or-self::ds:Signature)',
    'not(ancestor-or-self::ds:1)',
    'not(ancestor-or-self::1)',
    'not()',
  ])('that only look like them are evaluated: %s', (expression) => {
    expect(transform(xpath(expression))).toMatchObject([{ kind: 'XPATH', xpath: { expression, namespaces: { ds, p: 'urn:p' } } }]);
  });

  it('are read by their identifiers', () => {
    const named = (uri: string): string => `<ds:Transform Algorithm="${uri}"/>`;
    expect(transform(named(`${ds}enveloped-signature`) + named(`${ds}base64`) + named(exclusive))).toEqual([
      { kind: 'ENVELOPED' },
      { kind: 'BASE64' },
      { kind: 'CANONICAL', algorithm: 'EXC_C14N', inclusivePrefixes: undefined },
    ]);
    // An XPath transform without its expression is none.
    const xpathUri = 'http://www.w3.org/TR/1999/REC-xpath-19991116';
    expect(transform(named(xpathUri))).toEqual([{ kind: 'OTHER', uri: xpathUri }]);
    expect(transform(`<ds:Transform Algorithm="${xpathUri}"><XPath>true()</XPath></ds:Transform>`)).toEqual([
      { kind: 'OTHER', uri: xpathUri },
    ]);
    expect(transform(xpath('\n true() '))).toMatchObject([{ kind: 'XPATH', xpath: { expression: 'true()' } }]);
    const thousand = Array.from({ length: 1000 }, (_, index) => `a${index}`);
    expect(transform(canonical(thousand.join(' ')))).toMatchObject([{ kind: 'CANONICAL', inclusivePrefixes: thousand }]);
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

describe('a reference', () => {
  const text = `<r xmlns:u="urn:u"><!--c--><a Id="x" b="1"><!--d-->text<ds:Signature xmlns:ds="${ds}"><s/></ds:Signature></a></r>`;
  const octets = (uri: string, transforms: readonly Transform[], { document = text, own = false } = {}): string => {
    using parsed = parse(document);
    const [signature] = elementsNamed(parsed, [signatureName]);
    const before = parsed.canonical({ algorithm: 'C14N' });
    const context = { document: parsed, signature: own ? signature : undefined, budget: steps() };
    const found = parsed.canonical(canonicalRequest({ uri, transforms }, context)).toString();
    expect(parsed.canonical({ algorithm: 'C14N' }).equals(before)).toBe(true);
    return found;
  };
  const by = (algorithm: Canonicalisation): Transform => ({ kind: 'CANONICAL', algorithm });
  const without: Transform = { kind: 'WITHOUT', names: [signatureName] };
  const envelopedTransform: Transform = { kind: 'ENVELOPED' };

  it('is canonicalised by Canonical XML 1.0 where it names no algorithm (XML Signature §4.4.3.2)', () => {
    expect(octets('#x', [without])).toBe('<a xmlns:u="urn:u" Id="x" b="1">text</a>');
    expect(octets('#x', [without, by('EXC_C14N')])).toBe('<a Id="x" b="1">text</a>');
  });

  it.each<[string, Canonicalisation, boolean]>([
    ['', 'EXC_C14N_WITH_COMMENTS', false],
    ['#x', 'EXC_C14N_WITH_COMMENTS', false],
    ['#x', 'C14N_11_WITH_COMMENTS', false],
    ['#xpointer(/)', 'EXC_C14N_WITH_COMMENTS', true],
    ['#xpointer(/)', 'EXC_C14N', false],
    ["#xpointer(id('x'))", 'EXC_C14N_WITH_COMMENTS', true],
    ['#xpointer(id("x"))', 'C14N_WITH_COMMENTS', true],
    ["#xpointer(id('x'))", 'C14N', false],
  ])('by the URI %j and %s has comments: %s (§4.4.3.3)', (uri, algorithm, has) => {
    expect(octets(uri, [by(algorithm)]).includes('<!--d-->')).toBe(has);
  });

  it.each(['#xpointer(id(\'x"))', "#xpointer(id('x'))y", "#y#xpointer(id('x'))", '#xpointer(id(x))'])(
    'by the URI %s selects nothing',
    (uri) => {
      expect(() => octets(uri, [])).toThrow(ReferenceBroken);
    },
  );

  it('leaves its own signature out by the enveloped-signature transform, and every one by its name, once', () => {
    expect(octets('#x', [envelopedTransform, by('EXC_C14N')])).toContain('<s></s>');
    for (const transforms of [
      [envelopedTransform],
      [without],
      [without, envelopedTransform],
      [envelopedTransform, without],
      [without, without],
    ])
      expect(octets('#x', [...transforms, by('EXC_C14N')], { own: true })).toBe('<a Id="x" b="1">text</a>');
  });

  it('leaves out elements of a name in its namespace alone, and what is within them with them', () => {
    const other = `<r><Signature/><p:Signature xmlns:p="urn:p"/><Signature xmlns="${ds}"><Signature/><a/></Signature></r>`;
    expect(octets('', [without], { document: other })).toBe('<r><Signature></Signature><p:Signature xmlns:p="urn:p"></p:Signature></r>');
    using parsed = parse(other);
    expect(elementsNamed(parsed, [signatureName])).toHaveLength(1);
  });

  it('leaves out 1000 elements, and no more', () => {
    const many = (count: number): string =>
      octets('', [without], { document: `<r xmlns:ds="${ds}">${'<ds:Signature/>'.repeat(count)}</r>` });
    expect(many(1000)).toBe(`<r xmlns:ds="${ds}"></r>`);
    expect(() => many(1001)).toThrow('leaves out more than 1000 elements');
  });

  it('has no transform behind its canonicalisation, and none of base64', () => {
    for (const transforms of [[by('C14N'), without], [by('C14N'), by('C14N')], [{ kind: 'BASE64' } as const]])
      expect(() => octets('#x', transforms)).toThrow(ReferenceUnknown);
  });

  it('costs what its octets are', () => {
    using document = parse(`<r>${'x'.repeat(100_000)}</r>`);
    const digest = (stepsMax: number): string =>
      referenceDigest({ uri: '', transforms: [] }, 'sha256', { document, signature: undefined, budget: new StepBudget(stepsMax) }).toString(
        'hex',
      );
    expect(digest(1_000_000)).toBe(
      createHash('sha256')
        .update(document.canonical({ algorithm: 'C14N' }))
        .digest('hex'),
    );
    expect(() => digest(1000)).toThrow(XmlLimitFault);
  });

  it('selects nothing where its element is in one that is left out, or its filter takes no node', () => {
    using document = parse(text.replace('<s/>', '<s Id="y"/>'));
    const nothing = (uri: string, ...transforms: readonly Transform[]): boolean =>
      selectsNothing(canonicalRequest({ uri, transforms }, { document, signature: undefined, budget: steps() }), document);
    const filter = (expression: string): Transform => ({ kind: 'XPATH', xpath: { expression, namespaces: {} } });
    expect([nothing('#x', without), nothing('', without), nothing('#y')]).toEqual([false, false, false]);
    expect([nothing('#y', without), nothing('', { kind: 'WITHOUT', names: [{ namespace: undefined, localName: 'r' }] })]).toEqual([
      true,
      true,
    ]);
    expect([nothing('', filter('false()')), nothing('', filter('true()'))]).toEqual([true, false]);
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
