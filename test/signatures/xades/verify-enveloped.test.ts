import { describe, expect, it } from 'vitest';
import { envelopedFormat } from '../../../src/signatures/xades/enveloped.ts';
import type { EnvelopedParameters, EnvelopedState } from '../../../src/signatures/xades/enveloped-state.ts';
import { verifyEnveloped, withSignature } from '../../../src/signatures/xades/enveloped-result.ts';
import { signatureParts } from '../../../src/signatures/xades/signature-text.ts';
import { dsNamespace } from '../../../src/xmldsig/algorithm-uris.ts';
import { xmlInput } from '../../../src/signatures/xades/xml-input.ts';
import { usualProperties } from '../../../src/signatures/request/signed-properties.ts';
import { chainOf, signerWith, signingOf, softwareSigner, theOne, valueOf } from '../software-signer.ts';
import { documentNamed, envelopedParameters, signer } from './xades-signer.ts';

const text = '<doc xmlns="urn:example:b">\n  <Part Id="p1">signed</Part>\n</doc>';

const twin = signerWith(signer.privateKey, 'Another name');

/** A finished signature whose document or signature `forge` changes before it is verified. */
function verified(
  more: Partial<EnvelopedParameters>,
  { document = (xml) => xml, signature = (xml) => xml, state = (one) => one, by = signer }: Forgery = {},
): void {
  const properties = { ...usualProperties, claimedRoles: ['Director'] };
  const [prepared] = envelopedFormat.prepare([documentNamed(text)], envelopedParameters({ properties, ...more }), chainOf(signer), {
    now: new Date(),
  });
  const { state: own, ...others } = theOne(prepared === undefined ? [] : [prepared]);
  const value = valueOf(signer, others);
  const { start, end } = signatureParts(own.text, value, '');
  const written = signature(`${start}${end}`);
  const xml = xmlInput(Buffer.from(text));
  const pieces = withSignature(xml, own.place, written).map((piece) => Buffer.from(document(Buffer.from(piece).toString())));
  verifyEnveloped(pieces, xml, written, { ...state(own), signing: signingOf(by, signer.algorithm), value });
}

/** Another character of base64. */
const another = (character: string): string => (character === '+' ? '/' : '+');

interface Forgery {
  document?: (xml: string) => string;
  signature?: (xml: string) => string;
  state?: (state: EnvelopedState) => EnvelopedState;
  by?: typeof signer;
}

const whole = { name: 'in one pass', more: {} };
const part = { name: 'in a tree', more: { signedNode: 'p1' } };

describe.each([whole, part])('a finished signature, read $name', ({ more }) => {
  it('is accepted as it is', () => {
    verified(more);
  });

  it.each<[string, Forgery, string]>([
    ['other content', { document: (xml) => xml.replace('>signed<', '>forged<') }, 'does not cover the content'],
    ['another signing time', { signature: (xml) => xml.replace(/<xad:SigningTime>2/, '<xad:SigningTime>1') }, 'has other properties'],
    ['another role', { signature: (xml) => xml.replace('Director', 'Janitor') }, 'has other properties'],
    ['another digest', { signature: (xml) => xml.replace(/(?<=<ds:DigestValue>)./, another) }, 'has other references'],
    ['another algorithm', { signature: (xml) => xml.replace('ecdsa-sha256', 'ecdsa-sha384') }, 'names another algorithm'],
    ['another value', { signature: (xml) => xml.replace(/(?<=<ds:SignatureValue[^>]*>)./, another) }, 'has another value'],
    ['no certificate', { signature: (xml) => xml.replace(/<ds:KeyInfo>.*<\/ds:KeyInfo>/, '') }, 'lacks the signer certificate'],
    ['another key', { by: softwareSigner('another') }, 'does not verify'],
    ['another transform', { signature: (xml) => xml.replace('ancestor-or-self::ds:Signature', 'ancestor-or-self::ds:Manifest') }, ''],
    [
      'another certificate of the same key',
      { by: twin, signature: (xml) => xml.replace(/(?<=<ds:X509Certificate>)[^<]*/, Buffer.from(twin.certificate.der).toString('base64')) },
      'binds another certificate',
    ],
    ['one reference less', { signature: (xml) => xml.replace(/<ds:Reference Id.*?<\/ds:Reference>/, '') }, 'has other references'],
    ['one reference more', { signature: (xml) => xml.replace(/<ds:Reference Id.*?<\/ds:Reference>/, '$&$&') }, 'has other references'],
    [
      'another URI of the same content',
      { signature: (xml) => xml.replace(/ URI="(#?)([^"]*)"/, (_all, hash) => ` URI="#xpointer(${hash === '' ? '/' : "id('p1')"})"`) },
      'has other references',
    ],
    [
      'the element KeyInfo twice',
      { signature: (xml) => xml.replace(/<ds:KeyInfo>.*<\/ds:KeyInfo>/, '$&$&') },
      'has the element "KeyInfo" in the wrong place',
    ],
    [
      'other properties signed than its own',
      { signature: (xml) => xml.replace(/(<xad:SignedProperties Id=")([^"]*)/, '$1other') },
      'does not sign its properties',
    ],
    ['a broken one beside it', { state: (state) => ({ ...state, earlier: [[true]] }) }, 'breaks an existing one'],
    ['another Id', { state: (state) => ({ ...state, signatureId: 'other' }) }, ''],
  ])('is refused with %s', (_name, forgery, message) => {
    expect(() => {
      verified(more, forgery);
    }).toThrow(message);
  });
});

it.each<[string, Forgery, string]>([
  [
    'another transform',
    { signature: (xml) => xml.replace('<ds:Transforms>', `$&<ds:Transform Algorithm="${dsNamespace}enveloped-signature"/>`) },
    'has other transforms than were prepared',
  ],
  ['an element behind it', { signature: (xml) => `${xml}<evil xmlns=""/>` }, 'is not in its place'],
  ['another Id', { state: (state) => ({ ...state, signatureId: 'other' }) }, 'is not in its place'],
])('a finished signature, read in one pass, is refused with %s', (_name, forgery, message) => {
  expect(() => {
    verified({}, forgery);
  }).toThrow(message);
});

it('a document that is no longer well formed is refused', () => {
  const forgery: Forgery = { document: (xml) => xml.replace('</Part>', '</Prat>') };
  expect(() => {
    verified({}, forgery);
  }).toThrow('an end tag does not fit its start tag');
});
