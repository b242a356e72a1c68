import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import * as xmldom from '@xmldom/xmldom';
import { createRequire } from 'node:module';
import { createHash, webcrypto } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import * as xadesjs from 'xadesjs';
import { Refusal } from '../../../src/result-codes.ts';
import { keyPem, signerWith, softwareSigner } from '../software-signer.ts';
import { enveloped, signer } from './xades-signer.ts';
import { xmlsec1Signs, xmlsec1Verdicts } from './xmlsec1.ts';

const other = softwareSigner('xmlsec1 signer', 'rsa');
const text = '<doc xmlns="urn:example:b">\n  <Part Id="p1">signed</Part><Other Id="o1"/>\n</doc>';
const atOther = { position: { expression: '//b:Other', namespaces: { b: 'urn:example:b' } } };
const atPart = { position: { expression: '//b:Part', namespaces: { b: 'urn:example:b' } } };

const ds = 'http://www.w3.org/2000/09/xmldsig#';
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';

/** A document with a signature by xmlsec1. `transforms`: those before the canonicalisation. */
function byXmlsec1(uri: string, transforms: readonly string[], before = '', behind = '', objects = ''): Buffer {
  const template = `<Signature xmlns="${ds}"><SignedInfo><CanonicalizationMethod Algorithm="${exclusive}"/><SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><Reference URI="${uri}"><Transforms>${transforms.join('')}<Transform Algorithm="${exclusive}"/></Transforms><DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><DigestValue/></Reference></SignedInfo><SignatureValue/><KeyInfo${uri === '#info' ? ' Id="info"' : ''}><X509Data/></KeyInfo>${objects}</Signature>`;
  return xmlsec1Signs(text.replace('</doc>', `${before}${template}${behind}</doc>`), keyPem(other.privateKey), other.pem);
}

const envelopedTransform = `<Transform Algorithm="${ds}enveloped-signature"/>`;
const xpathTransform = `<Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><XPath xmlns:ds="${ds}">not(ancestor-or-self::ds:Signature)</XPath></Transform>`;
const verdicts = (xml: Buffer): string[] => xmlsec1Verdicts(xml, { pems: [signer.pem, other.pem] });

describe('a signature beside one of xmlsec1', () => {
  it.each<[string, string, readonly string[], object]>([
    ['of an element, elsewhere', '#p1', [], atOther],
    ['of the document, with a filter', '', [xpathTransform], {}],
    ['of the document, with a filter, in the signed part', '', [xpathTransform], atPart],
  ])('leaves it valid: %s', (_name, uri, transforms, more) => {
    const first = byXmlsec1(uri, transforms);
    expect(verdicts(first)).toEqual(['OK']);
    for (const validates of [false, true]) expect(verdicts(enveloped(first, { ...more, validates }))).toEqual(['OK', 'OK']);
  });

  it.each<[string, string, readonly string[], object]>([
    ['of the document, without one', '', [envelopedTransform], {}],
    ['of an element, in it', '#p1', [], atPart],
  ])('is refused where it would break it: %s', (_name, uri, transforms, more) => {
    const first = byXmlsec1(uri, transforms);
    expect(verdicts(first)).toEqual(['OK']);
    expect(() => enveloped(first, more)).toThrow('an existing signature covers the place of the new one');
  });

  it('is added to a broken one, except where the caller has existing ones verified', () => {
    const broken = Buffer.from(byXmlsec1('#p1', []).toString().replace('>signed<', '>forged<'));
    expect(verdicts(enveloped(broken, atOther))).toEqual(['OK', expect.stringContaining('digest do not match')]);
    expect(() => enveloped(broken, { ...atOther, validates: true })).toThrow('does not fit the content of the document');
  });
});

describe('a place within an existing signature is refused', () => {
  const namespaces = { ds, x: 'http://uri.etsi.org/01903/v1.3.2#' };
  const first = enveloped(Buffer.from(text), {});

  it.each([
    ['//ds:Signature', 'LAST_CHILD'],
    ['//ds:Signature', 'FIRST_CHILD'],
    ['//ds:SignedInfo', 'NEXT_SIBLING'],
    ['//ds:DigestValue', 'LAST_CHILD'],
    ['//ds:SignatureValue', 'NEXT_SIBLING'],
    ['//ds:KeyInfo', 'LAST_CHILD'],
    ['//ds:Object', 'LAST_CHILD'],
    ['//ds:Object', 'NEXT_SIBLING'],
    ['//x:QualifyingProperties', 'FIRST_CHILD'],
    ['//x:SignedProperties', 'NEXT_SIBLING'],
  ] as const)('%s, %s', (expression, place) => {
    for (const validates of [false, true])
      expect(() => enveloped(first, { position: { expression, namespaces }, place, validates })).toThrow(
        'the place is within an existing signature; NEXT_SIBLING of that signature is the place behind it',
      );
  });

  it('also if its element has another name', () => {
    const named = enveloped(Buffer.from(text), { root: { namespace: 'urn:own', localName: 'Own' } });
    expect(named.toString()).toContain('urn:own');
    expect(() => enveloped(named, { position: { expression: '//o:Own', namespaces: { o: 'urn:own' } } })).toThrow('within an existing');
  });

  it('but the place behind it is not', () => {
    const second = enveloped(first, { position: { expression: '//ds:Signature', namespaces }, place: 'NEXT_SIBLING', validates: true });
    expect(verdicts(second)).toEqual(['OK', 'OK']);
  });
});

describe('XPath filters of existing signatures', () => {
  const filter = (expression: string): string =>
    `<Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><XPath>${expression}</XPath></Transform>`;
  const filtered = { transformation: { expression: 'not(self::comment())', namespaces: {} } };

  it('may be in many signatures, all of which are verified', () => {
    let document: Buffer = Buffer.from(text);
    for (let count = 1; count <= 12; count += 1) document = enveloped(document, { ...filtered, validates: true });
    expect(verdicts(document)).toEqual(Array.from({ length: 12 }, () => 'OK'));
  });

  it('do not hide that another signature would be broken', () => {
    const decoy = `<SignedInfo xmlns="${ds}">${`<Reference URI=""><Transforms>${filter('true()')}</Transforms><DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><DigestValue>AAAA</DigestValue></Reference>`.repeat(8)}</SignedInfo>`;
    for (const before of ['', `<x xmlns="">${decoy}</x>`]) {
      const first = byXmlsec1('', [envelopedTransform, filter('true()')], before);
      expect(verdicts(first)).toEqual(['OK']);
      expect(() => enveloped(first, {})).toThrow('an existing signature covers the place of the new one');
    }
  });

  it.each([
    ['more filters than can be evaluated', [envelopedTransform, ...Array.from({ length: 16 }, () => filter('true()'))]],
    ['a larger one than can be evaluated', [envelopedTransform, filter(`true()${' and true()'.repeat(251)}`)]],
  ])('are refused if a reference has %s: whether it holds is not known', (_what, transforms) => {
    const first = byXmlsec1('', transforms);
    expect(verdicts(first)).toEqual(['OK']);
    for (const validates of [false, true])
      expect(() => enveloped(first, { validates })).toThrow('an existing signature has a reference beyond a limit of this service');
  });
});

describe('existing signatures are verified', () => {
  const first = byXmlsec1('#p1', []).toString();

  it.each<[string, string, string]>([
    [
      'the value',
      first.replace(/(?<=<SignatureValue>)./, (character) => (character === '+' ? '/' : '+')),
      'does not verify under its certificate',
    ],
    ['the certificate', first.replace(/<X509Certificate>[^<]*<\/X509Certificate>/, ''), 'contains no certificate'],
    ['the algorithms', first.replace('#rsa-sha256', '#rsa-sha224'), 'has an algorithm that this service does not know'],
    [
      'the canonicalisation',
      first.replace(`<CanonicalizationMethod Algorithm="${exclusive}"`, '<CanonicalizationMethod Algorithm="urn:other"'),
      'has an algorithm that this service does not know',
    ],
    [
      'a certificate that is none',
      first.replace(/<X509Certificate>[^<]*/, '<X509Certificate>MAAA'),
      'contains no certificate that it binds',
    ],
    ['a digest of an unknown algorithm', first.replace('xmlenc#sha256', 'xmlenc#sha257'), 'has an unknown digest algorithm'],
    ['two elements with the signed Id', first.replace('<Other ', '<Other id="p1" '), 'several elements have'],
    ['a signed element that is gone', first.replace('Id="p1"', 'Id="p2"'), 'does not exist'],
    ['other resources', first.replace('URI="#p1"', 'URI="https://example.org/part"'), 'names another resource'],
    ['a missing part', first.replace(/<DigestValue>[^<]*<\/DigestValue>/, ''), 'cannot be read'],
    ['two SignedInfo', first.replace(/<SignedInfo>.*<\/SignedInfo>/s, '$&$&'), 'lacks the element SignatureValue in its place'],
    ['two values', first.replace(/<SignatureValue>[^<]*<\/SignatureValue>/, '$&$&'), 'has the element "SignatureValue" in the wrong place'],
    ['two digests', first.replace(/<DigestValue>[^<]*<\/DigestValue>/, '$&$&'), 'has the element "DigestValue" in the wrong place'],
    [
      'parts in another order',
      first.replace(/(<SignedInfo>.*<\/SignedInfo>)(\s*<SignatureValue>[^<]*<\/SignatureValue>)/s, '$2$1'),
      'lacks the element SignedInfo in its place',
    ],
    [
      'an element that does not belong there',
      first.replace('<KeyInfo>', '<evil xmlns=""/><KeyInfo>'),
      'has the element "evil" in the wrong place',
    ],
    [
      'base64 with other characters',
      first.replace('<SignatureValue>', '<SignatureValue>!!'),
      'has text in SignatureValue that is not base64',
    ],
    ['base64 without its end', first.replace(/=*<\/DigestValue>/, '</DigestValue>'), 'has text in DigestValue that is not base64'],
  ])('%s', (_name, document, message) => {
    expect(() => enveloped(document, { ...atOther, validates: true })).toThrow(message);
  });

  it.each<[string, string]>([
    ['beside the real one', first.replace('<Other ', '<ds:Signature><evil>pay</evil></ds:Signature><Other ')],
    ['at the end', first.replace('</doc>', '<ds:Signature/></doc>')],
    ['in the signed part', first.replace('>signed<', '>signed<ds:Signature><evil/></ds:Signature><')],
    ['in another element', first.replace('<Other Id="o1"/>', '<Other Id="o1"><deep><ds:Signature>text</ds:Signature></deep></Other>')],
    ['with another prefix', first.replace('<Other ', `<Signature xmlns="${ds}" Id="x"><evil/></Signature><Other `)],
    [
      'around the real one',
      first.replace('<Signature xmlns', '<ds:Signature><evil/><Signature xmlns').replace('</Signature>', '</Signature></ds:Signature>'),
    ],
    ['within the Object of the real one', first.replace('</KeyInfo>', '</KeyInfo><Object><ds:Signature><evil/></ds:Signature></Object>')],
    ['within the KeyInfo of the real one', first.replace('</KeyInfo>', '<ds:Signature><evil/></ds:Signature></KeyInfo>')],
    ['with a SignedInfo of no namespace', first.replace('<Other ', '<ds:Signature><SignedInfo xmlns=""/></ds:Signature><Other ')],
    ['with a SignedInfo deeper down', first.replace('<Other ', '<ds:Signature><a><ds:SignedInfo/></a></ds:Signature><Other ')],
    ['with an empty SignedInfo', first.replace('<Other ', '<ds:Signature><ds:SignedInfo/></ds:Signature><Other ')],
    ['where there is no real one', text.replace('<Other ', '<ds:Signature><evil>pay</evil></ds:Signature><Other ')],
  ])('a ds:Signature that is no signature is refused wherever it stands: %s', (_where, document) => {
    const bound = document.replace('<doc xmlns', `<doc xmlns:ds="${ds}" xmlns`);
    const outcome = (validates: boolean): unknown => {
      try {
        return enveloped(bound, { ...atOther, place: 'NEXT_SIBLING', validates }).length > 0;
      } catch (error) {
        return error instanceof Refusal ? error.code : error;
      }
    };
    expect(outcome(true)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('a broken signature is refused wherever it stands', () => {
    const [broken = ''] =
      /<Signature .*<\/Signature>/s.exec(first.replace(/(?<=<SignatureValue>)./, (one) => (one === '+' ? '/' : '+'))) ?? [];
    for (const document of [
      first.replace('<Other ', `${broken}<Other `),
      first.replace('</KeyInfo>', `</KeyInfo><Object>${broken}</Object>`),
      first.replace('<Other Id="o1"/>', `<Other Id="o1"><a>${broken}</a></Other>`),
    ])
      expect(() => enveloped(document, { ...atOther, place: 'NEXT_SIBLING', validates: true })).toThrow(
        'does not verify under its certificate',
      );
  });

  it('a signature in the Object of another one is taken where both hold', () => {
    const countersigned = first.replace('</KeyInfo>', `</KeyInfo><Object>${/<Signature .*<\/Signature>/s.exec(first)?.[0] ?? ''}</Object>`);
    expect(() => enveloped(countersigned, { ...atOther, validates: true })).not.toThrow();
  });

  it('of several certificates, the one that the signed properties bind verifies it; if none is it, none does', () => {
    const signed = enveloped(text).toString();
    const { privateKey } = signer;
    const twin = signerWith(privateKey, 'Another name').certificate.der;
    const twinBase64 = Buffer.from(twin).toString('base64');
    const verified = (document: string): Buffer => enveloped(document, { validates: true });
    const certificate = /<ds:X509Certificate>[^<]*<\/ds:X509Certificate>/;
    expect(() => verified(signed)).not.toThrow();
    // KeyInfo is not signed, and the value verifies under the other certificate as well.
    expect(() => verified(signed.replace(certificate, `<ds:X509Certificate>${twinBase64}</ds:X509Certificate>`))).toThrow(
      'contains no certificate that it binds',
    );
    expect(() => verified(signed.replace(certificate, `<ds:X509Certificate>${twinBase64}</ds:X509Certificate>$&`))).not.toThrow();
    expect(() => verified(signed.replace(certificate, `$&<ds:X509Certificate>${twinBase64}</ds:X509Certificate>`))).not.toThrow();
  });

  it('qualifying properties that are not signed bind no certificate: a signature has those alone that it signs', () => {
    const signed = enveloped(text).toString();
    const twin = signerWith(signer.privateKey, 'Another name').certificate.der;
    const [object = ''] = /<ds:Object>.*<\/ds:Object>/s.exec(signed) ?? [];
    const unsigned = object
      .replaceAll(/ (Id|Target)="[^"]*"/g, '')
      .replace(
        /(<xad:CertDigest>.*<ds:DigestValue>)[^<]*/s,
        (_all, before: string) => `${before}${createHash('sha256').update(twin).digest('base64')}`,
      );
    const forged = signed.replace(/(?<=<ds:X509Certificate>)[^<]*/, Buffer.from(twin).toString('base64'));
    const verified = (document: string): Buffer => enveloped(document, { validates: true });
    for (const document of [forged.replace(object, `${unsigned}${object}`), forged.replace(object, `${object}${unsigned}`)])
      expect(() => verified(document)).toThrow('has several QualifyingProperties');
    const properties = /<xad:QualifyingProperties.*<\/xad:QualifyingProperties>/s.exec(unsigned)?.[0] ?? '';
    const besides = forged.replace('</xad:QualifyingProperties>', `$&${properties}`);
    expect(() => verified(besides)).toThrow('has several QualifyingProperties');
    // The element QualifyingProperties itself is not signed either.
    const inner = /<xad:SignedProperties.*<\/xad:SignedProperties>/s.exec(unsigned)?.[0] ?? '';
    for (const place of ['<xad:SignedProperties', '</xad:QualifyingProperties>'])
      expect(() => verified(forged.replace(place, `${inner}${place}`))).toThrow('has SignedProperties that it does not sign');
    // A signature that signs no properties has none.
    const namespaces = `<Object xmlns:ds="${ds}">${properties}</Object>`;
    expect(() => verified(first.replace('</KeyInfo>', `</KeyInfo>${namespaces}`))).toThrow('has SignedProperties that it does not sign');
    const foreign = '<QualifyingProperties xmlns="urn:other"><SignedProperties/></QualifyingProperties>';
    for (const harmless of ['of no concern', foreign, foreign.repeat(2)])
      expect(() => verified(first.replace('</KeyInfo>', `</KeyInfo><Object>${harmless}</Object>`))).not.toThrow();
  });

  it('by an RSA key with a public exponent below 65537 is refused', () => {
    const small = softwareSigner('exponent', 'rsa', '5', 3);
    const signed = enveloped(text, { algorithm: small.algorithm }, small);
    expect(() => enveloped(signed, { validates: true })).toThrow('public exponent');
  });

  it('also if they are not built as their schema says: no other one may break them', () => {
    const lax = byXmlsec1('', [envelopedTransform]).toString().replace('<SignatureValue>', '<SignatureValue>!!');
    expect(() => enveloped(lax, {})).toThrow('an existing signature covers the place of the new one');
  });

  it('a signed element that was moved into another signature, with a forged one in its place', () => {
    const part = '<Part Id="p1">signed</Part>';
    const wrapped = enveloped(first, { ...atOther, signedNode: 'o1' })
      .toString()
      .replace(part, '<Part Id="p2">forged</Part>')
      .replace('</ds:Object></ds:Signature>', `</ds:Object><ds:Object>${part}</ds:Object></ds:Signature>`);
    // xmlsec1 alone does not notice.
    expect(verdicts(Buffer.from(wrapped))[1]).toBe('OK');
    expect(() => enveloped(wrapped, { ...atOther, validates: true })).toThrow('references an element within a signature');
  });

  it.each<[string, (xml: string, part: string) => string]>([
    ['KeyInfo', (xml, part) => xml.replace('</ds:KeyInfo>', `${part}$&`)],
    ['X509Data', (xml, part) => xml.replace('</ds:X509Data>', `${part}$&`)],
    ['KeyInfo, deeper down', (xml, part) => xml.replace('</ds:KeyInfo>', `<any>${part}</any>$&`)],
    ['KeyInfo, in an element named Object', (xml, part) => xml.replace('</ds:KeyInfo>', `<ds:Object>${part}</ds:Object>$&`)],
    ['its own KeyInfo', (xml, part) => xml.replace('</KeyInfo>', `${part.replace('>', ' xmlns="urn:example:b">')}$&`)],
    ['its own Object', (xml, part) => xml.replace('</KeyInfo>', `$&<Object>${part.replace('>', ' xmlns="urn:example:b">')}</Object>`)],
    [
      'its own Object, deeper down',
      (xml, part) =>
        xml.replace(
          '</KeyInfo>',
          `$&<Object><SignatureProperties>${part.replace('>', ' xmlns="urn:example:b">')}</SignatureProperties></Object>`,
        ),
    ],
    ['its own X509Data', (xml, part) => xml.replace('</X509Data>', `${part.replace('>', ' xmlns="urn:example:b">')}$&`)],
  ])('a signed element that was moved into another place of a signature: %s', (_where, moved) => {
    const part = '<Part Id="p1">signed</Part>';
    const both = enveloped(first, { ...atOther, signedNode: 'o1' })
      .toString()
      .replace(part, '<Part Id="p2">forged</Part>');
    const wrapped = moved(both, part);
    expect(verdicts(Buffer.from(wrapped))[1]).toBe('OK');
    expect(() => enveloped(wrapped, { ...atOther, validates: true })).toThrow('references an element within a signature');
  });

  it.each<[string, (properties: string, signed: string) => string]>([
    ['deeper in the Object', (properties) => `<any xmlns="">${properties}</any>`],
    ['alone', (_properties, signed) => signed],
    ['deeper in the QualifyingProperties', (properties, signed) => properties.replace(signed, `<any xmlns="">${signed}</any>`)],
  ])('signed properties that were moved bind no certificate, so none is taken for theirs: %s', (_where, moved) => {
    const signed = enveloped(text).toString();
    const [properties = ''] = /<xad:QualifyingProperties.*<\/xad:QualifyingProperties>/s.exec(signed) ?? [];
    const [inner = ''] = /<xad:SignedProperties.*<\/xad:SignedProperties>/s.exec(properties) ?? [];
    const declared = inner.replace('<xad:SignedProperties', '<xad:SignedProperties xmlns:xad="http://uri.etsi.org/01903/v1.3.2#"');
    const twin = signerWith(signer.privateKey, 'Another name').certificate.der;
    const forged = signed
      .replace(/(?<=<ds:X509Certificate>)[^<]*/, Buffer.from(twin).toString('base64'))
      .replace(properties, moved(properties.replace(inner, declared), declared));
    for (const document of [forged, forged.replace(/ Type="[^"]*#SignedProperties"/, '')])
      expect(() => enveloped(document, { validates: true })).toThrow('references SignedProperties that are not in its');
  });

  it.each([
    ['its own Object', '#object', '<Object Id="object"><a xmlns=""/></Object>'],
    [
      'an element of XML Signature in its own Object',
      '#object',
      '<Object><SignatureProperties Id="object"><a/></SignatureProperties></Object>',
    ],
  ])('a signature may cover %s', (_what, uri, object) => {
    const second = byXmlsec1(uri, [], '', '', object);
    expect(() => enveloped(second, { ...atOther, validates: true })).not.toThrow();
  });

  it.each([
    ['its own KeyInfo', '#info', ''],
    ['the value of another one', '#value', first.replace('<SignatureValue>', '<SignatureValue Id="value">')],
  ])('a signature may cover %s', (_what, uri, signedElsewhere) => {
    const second = byXmlsec1(uri, [], '', /<Signature .*<\/Signature>/s.exec(signedElsewhere)?.[0]);
    expect(() => enveloped(second, { ...atOther, validates: true })).not.toThrow();
  });
});

describe('a signature beside one of xadesjs', () => {
  const { subtle } = webcrypto;

  beforeAll(() => {
    // Its types would bring those of browsers into the whole project.
    const xpath: unknown = createRequire(import.meta.url)('xpath');
    const { XMLSerializer, DOMParser, DOMImplementation } = xmldom;
    xadesjs.setNodeDependencies({ XMLSerializer, DOMParser, DOMImplementation, xpath });
    xadesjs.Application.setEngine('node', webcrypto);
  });

  it('leaves it valid, for xadesjs too', async () => {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1) };
    const keys = await subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await x509.X509CertificateGenerator.createSelfSigned(
      { name: 'CN=xadesjs', keys, signingAlgorithm: algorithm },
      webcrypto,
    );
    const base64 = Buffer.from(certificate.rawData).toString('base64');
    const document = new xmldom.DOMParser().parseFromString(text, 'text/xml');
    const signature = new xadesjs.SignedXml();
    const references: xadesjs.OptionsXAdES['references'] = [{ uri: '#p1', hash: 'SHA-256', transforms: ['exc-c14n'] }];
    await signature.Sign(algorithm, keys.privateKey, document, { x509: [base64], signingCertificate: base64, references });
    const element: unknown = signature.GetXml();
    if (!(element instanceof xmldom.Node)) throw new Error('no signature');
    document.documentElement?.appendChild(element);
    const first = new xmldom.XMLSerializer().serializeToString(document);
    const both = enveloped(first, { ...atOther, validates: true });
    expect(xmlsec1Verdicts(both, { pems: [signer.pem, certificate.toString('pem')] })).toEqual(['OK', 'OK']);
    const again = new xmldom.DOMParser().parseFromString(both.toString(), 'text/xml');
    const theirs = Array.from(again.getElementsByTagNameNS(ds, 'Signature')).at(-1);
    const verifier = new xadesjs.SignedXml(again);
    verifier.LoadXml(theirs);
    expect(await verifier.Verify()).toBe(true);
  });
});
