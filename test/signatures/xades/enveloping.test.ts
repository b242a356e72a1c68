import { describe, expect, it } from 'vitest';
import { envelopingFormat } from '../../../src/signatures/xades/enveloping.ts';
import { canonicalisations } from '../../../src/xml/canonicalisation.ts';
import { documentNamed, enveloped, everywhere, made, xadesParameters } from './xades-signer.ts';
import { xmlsec1Verdicts } from './xmlsec1.ts';

const xml = '<?xml version="1.0"?>\n<!-- before --><a xmlns="urn:example:a" xmlns:ds="urn:example:other">é<b/></a><?after?>';

describe('an enveloping signature', () => {
  it.each(canonicalisations)('contains XML as XML, canonicalised by %s', (algorithm) => {
    const signed = made(envelopingFormat, [documentNamed(xml)], xadesParameters({ canonicalisation: everywhere(algorithm) }));
    expect(xmlsec1Verdicts(signed)).toEqual(['OK']);
    expect(signed.toString()).toContain(`MimeType="text/xml">${xml.slice(xml.indexOf('\n'))}</ds:Object>`);
    expect(xmlsec1Verdicts(Buffer.from(signed.toString().replace('é', 'è')))).not.toEqual(['OK']);
  });

  it.each([
    ['bytes', Buffer.of(0, 1, 2, 255)],
    ['text', Buffer.from('plain text & more')],
    ['XML with a DOCTYPE', Buffer.from('<!DOCTYPE html><html/>')],
    ['nothing', Buffer.alloc(0)],
  ])('contains anything else as base64: %s', (_name, content) => {
    const signed = made(envelopingFormat, [documentNamed(content, 'file.bin')], xadesParameters());
    expect(xmlsec1Verdicts(signed)).toEqual(['OK']);
    const object = /<ds:Object Encoding="http:\/\/www\.w3\.org\/2000\/09\/xmldsig#base64"[^>]*>([^<]*)<\/ds:Object>/.exec(
      signed.toString(),
    );
    expect(Buffer.from(object?.[1] ?? '-', 'base64')).toEqual(content);
  });

  it('contains documents in other encodings as UTF-8', () => {
    const latin = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9</a>', 'latin1');
    const signed = made(envelopingFormat, [documentNamed(latin)], xadesParameters());
    expect(signed.toString()).toContain('<a>é</a>');
    expect(xmlsec1Verdicts(signed)).toEqual(['OK']);
  });

  it('leaves signatures in the document valid, and bears an enveloped one', () => {
    const signed = made(envelopingFormat, [documentNamed(enveloped(xml, { signedNode: undefined }).toString())], xadesParameters());
    expect(xmlsec1Verdicts(signed)[0]).toBe('OK');
  });

  it.each(['VERSION_1_1_1', 'VERSION_1_2_2', 'VERSION_1_4_1'] as const)('is made in %s, and under a root of the caller', (version) => {
    expect(xmlsec1Verdicts(made(envelopingFormat, [documentNamed(xml)], xadesParameters({ version })))).toEqual(['OK']);
    const root = { namespace: 'urn:example:seal', localName: 'Seal' };
    expect(made(envelopingFormat, [documentNamed(xml)], xadesParameters({ version, root })).toString()).toMatch(
      /^<sig:Seal .*<\/sig:Seal>$/s,
    );
  });
});
