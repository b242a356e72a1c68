import { describe, expect, it } from 'vitest';
import { XmlDocument } from '../../src/xml/xml-document.ts';
import { XmlFault } from '../../src/xml/xml-fault.ts';
import { readSignature, type ReadSignature } from '../../src/xmldsig/read-signature.ts';
import { structureFault } from '../../src/xmldsig/structure.ts';

const ds = 'http://www.w3.org/2000/09/xmldsig#';
const canonicalisation = '<CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>';
const method = '<SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/>';
const transforms = '<Transforms><Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></Transforms>';
const digestMethod = '<DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>';
const digestValue = '<DigestValue>AQID</DigestValue>';
const reference = `<Reference URI="#a">${transforms}${digestMethod}${digestValue}</Reference>`;
const signedInfo = `<SignedInfo>${canonicalisation}${method}${reference}</SignedInfo>`;
const value = '<SignatureValue>BAUG</SignatureValue>';
const keyInfo = '<KeyInfo><X509Data><X509Certificate>BwgJ</X509Certificate></X509Data></KeyInfo>';
const object = '<Object><a/></Object>';
const whole = `<Signature xmlns="${ds}" Id="s">${signedInfo}${value}${keyInfo}${object}</Signature>`;

/** What is read from a signature. The document is free afterwards. */
function from<T>(text: string, look: (document: XmlDocument, signature: ReadSignature) => T): T {
  using document = XmlDocument.parse(Buffer.from(text));
  return look(document, readSignature(document, document.root));
}

describe('a signature is read', () => {
  it('with its references, value, certificates and objects', () => {
    const read = from(
      whole,
      (_document, { id, algorithm, signedInfoCanonicalisation, references, value: octets, certificates, objects }) => ({
        ...{ id, algorithm, signedInfoCanonicalisation, references, value: octets, certificates, objects: objects.length },
      }),
    );
    expect(read).toEqual({
      ...{ id: 's', algorithm: { scheme: 'RSA_PKCS1', hash: 'sha256' }, value: Buffer.of(4, 5, 6), certificates: [Buffer.of(7, 8, 9)] },
      signedInfoCanonicalisation: { kind: 'CANONICAL', algorithm: 'EXC_C14N', inclusivePrefixes: undefined },
      references: [
        {
          ...{ id: undefined, type: undefined, uri: '#a', hash: 'sha256', digest: Buffer.of(1, 2, 3) },
          digestMethod: 'http://www.w3.org/2001/04/xmlenc#sha256',
          transforms: [{ kind: 'CANONICAL', algorithm: 'EXC_C14N', inclusivePrefixes: undefined }],
        },
      ],
      objects: 1,
    });
  });

  it.each([
    ['SignedInfo', signedInfo],
    ['CanonicalizationMethod', canonicalisation],
    ['SignatureMethod', method],
    ['DigestMethod', digestMethod],
    ['DigestValue', digestValue],
    ['SignatureValue', value],
  ])('only if it has the element %s', (name, element) => {
    expect(() => from(whole.replace(element, ''), () => undefined)).toThrow(new XmlFault(`a signature lacks the element ${name}`));
  });

  it('with an algorithm that is unknown if its identifier is, or if it has parameters', () => {
    const algorithmWith = (other: string): unknown => from(whole.replace(method, other), (_document, { algorithm }) => algorithm);
    expect(algorithmWith(method.replace('rsa-sha256', 'rsa-sha257'))).toBeUndefined();
    expect(algorithmWith(method.replace('/>', '><HMACOutputLength>8</HMACOutputLength></SignatureMethod>'))).toBeUndefined();
    expect(from(whole.replace('xmlenc#sha256', 'xmlenc#sha257'), (_document, { references }) => references[0]?.hash)).toBeUndefined();
    expect(
      from(whole.replace(canonicalisation, '<CanonicalizationMethod Algorithm="urn:other"/>'), (_document, one) => [
        one.signedInfoCanonicalisation,
      ]),
    ).toEqual([undefined]);
  });

  it('with the certificates of X509Data alone, and the objects of this namespace', () => {
    const certificatesIn = (content: string): number =>
      from(whole.replace(keyInfo, `<KeyInfo>${content}</KeyInfo>`), (_document, { certificates }) => certificates.length);
    const certificate = '<X509Certificate>BwgJ</X509Certificate>';
    expect(certificatesIn(`<X509Data>${certificate}${certificate}</X509Data><X509Data>${certificate}</X509Data>`)).toBe(3);
    expect(certificatesIn(certificate)).toBe(0);
    expect(certificatesIn(`<PGPData>${certificate}</PGPData>`)).toBe(0);
    expect(certificatesIn('<X509Data><X509CRL>BwgJ</X509CRL></X509Data>')).toBe(0);
    expect(certificatesIn('<X509Data><X509Certificate xmlns="urn:other">BwgJ</X509Certificate></X509Data>')).toBe(0);
    expect(from(whole.replace('<Object>', '<Object xmlns="urn:other">'), (_document, { objects }) => objects.length)).toBe(0);
  });
});

describe('the structure of a signature', () => {
  const faultOf = (text: string): string | undefined => from(text, structureFault);

  it.each([
    ['all parts', whole],
    ['no KeyInfo', whole.replace(keyInfo, '')],
    ['no Object', whole.replace(object, '')],
    ['several Objects', whole.replace(object, object.repeat(3))],
    ['several References', whole.replace(reference, reference.repeat(3))],
    ['no Transforms', whole.replace(transforms, '')],
    ['white space', whole.replaceAll('><', '>\n<').replace('AQID', ' A\r\nQ\tID ')],
    ['base64 with an end', whole.replace('AQID', 'AQI=').replace('BAUG', 'BA==')],
    ['text of other elements that is not base64', whole.replace('</X509Data>', '<X509SubjectName>CN=a</X509SubjectName></X509Data>')],
  ])('is as its schema says, with %s', (_what, text) => {
    expect(faultOf(text)).toBeUndefined();
  });

  const wrong = (name: string): string => `has the element "${name}" in the wrong place`;
  const lacks = (name: string): string => `lacks the element ${name} in its place`;
  const notBase64 = (name: string): string => `has text in ${name} that is not base64`;
  it.each([
    ['two KeyInfo', whole.replace(keyInfo, keyInfo + keyInfo), wrong('KeyInfo')],
    ['KeyInfo behind an Object', whole.replace(keyInfo + object, object + keyInfo), wrong('KeyInfo')],
    ['two SignatureValue', whole.replace(value, value + value), wrong('SignatureValue')],
    ['two SignedInfo', whole.replace(signedInfo, signedInfo + signedInfo), lacks('SignatureValue')],
    ['no Reference', whole.replace(reference, ''), lacks('Reference')],
    ['two CanonicalizationMethod', whole.replace(canonicalisation, canonicalisation.repeat(2)), lacks('SignatureMethod')],
    ['two SignatureMethod', whole.replace(method, method.repeat(2)), lacks('Reference')],
    ['the methods in another order', whole.replace(canonicalisation + method, method + canonicalisation), lacks('CanonicalizationMethod')],
    ['another element in SignedInfo', whole.replace('</SignedInfo>', '<a/></SignedInfo>'), wrong('a')],
    ['two Transforms', whole.replace(transforms, transforms.repeat(2)), lacks('DigestMethod')],
    ['Transforms behind the digest', whole.replace(digestMethod, digestMethod + transforms).replace(transforms, ''), lacks('DigestValue')],
    ['two DigestMethod', whole.replace(digestMethod, digestMethod.repeat(2)), lacks('DigestValue')],
    ['two DigestValue', whole.replace(digestValue, digestValue.repeat(2)), wrong('DigestValue')],
    [
      'two in the second Reference',
      whole.replace(reference, reference + reference.replace(digestValue, digestValue.repeat(2))),
      wrong('DigestValue'),
    ],
    ['an element of another namespace', whole.replace('<KeyInfo>', '<KeyInfo xmlns="urn:other">'), wrong('KeyInfo')],
    ['another character in SignatureValue', whole.replace('BAUG', 'BA-G'), notBase64('SignatureValue')],
    ['another character in DigestValue', whole.replace('AQID', 'AQ.D'), notBase64('DigestValue')],
    ['another character in X509Certificate', whole.replace('BwgJ', 'Bw_J'), notBase64('X509Certificate')],
    ['base64 that is too short', whole.replace('AQID', 'AQI'), notBase64('DigestValue')],
    ['base64 that goes on behind its end', whole.replace('AQID', 'AQ==AQ=='), notBase64('DigestValue')],
    ['base64 with a longer end', whole.replace('AQID', 'A==='), notBase64('DigestValue')],
    ['a space that is none of XML', whole.replace('AQID', 'AQ\u00a0ID'), notBase64('DigestValue')],
  ])('is refused with %s', (_what, text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });
});
