import { describe, expect, it } from 'vitest';
import type { InputDocument } from '../../../src/documents/document.ts';
import { Refusal } from '../../../src/result-codes.ts';
import {
  checkNamespaces,
  checkTextEncoding,
  contentBytesOf,
  earlierSteps,
  parsedXml,
  refusingXml,
  xmlInput,
  xmlMaxBytes,
} from '../../../src/signatures/xades/xml-input.ts';
import { XmlDocument } from '../../../src/xml/xml-document.ts';
import { XmlFault } from '../../../src/xml/xml-fault.ts';

const nested = (depth: number): Buffer => Buffer.from('<a>'.repeat(depth) + '</a>'.repeat(depth));
const read = (text: string | Uint8Array) => (): unknown => xmlInput(Buffer.from(text));
const refused = (more: object): Error => expect.objectContaining(more) as Error;

describe('an XML document of a request', () => {
  it('has content', () => {
    expect(read('')).toThrow('the document is empty');
    expect(read('<a/>')).not.toThrow();
  });

  it('has 200 elements within one another at most, and 10,000 attributes of one element', () => {
    expect(read(nested(200))).not.toThrow();
    expect(read(nested(201))).toThrow(XmlFault);
    const attributes = (count: number): string => `<a ${Array.from({ length: count }, (_, index) => `b${index}=""`).join(' ')}/>`;
    expect(read(attributes(10_000))).not.toThrow();
    expect(read(attributes(10_001))).toThrow(XmlFault);
  });

  it('may become 20 elements deeper with its signature', () => {
    using result = parsedXml(nested(220));
    expect(result.localName(result.root)).toBe('a');
    expect(() => parsedXml(nested(221))).toThrow(XmlFault);
  });

  it('has 64 MiB at most, which is found out before it is read', () => {
    const file = (bytes: number) => (): unknown => contentBytesOf({ descriptor: -1, bytes });
    expect(file(xmlMaxBytes + 1)).toThrow(refused({ code: 'UNSUPPORTED' }));
    expect(contentBytesOf(Buffer.from('<a/>')).length).toBe(4);
  });

  it('has the encoding that it declares: text of the request is UTF-8', () => {
    const check = (encoding: string, isText?: boolean) => (): void => {
      const document: InputDocument = {
        ...{ id: 'd', fileName: undefined, source: { content: new Uint8Array() } },
        ...(isText === undefined ? {} : { isText }),
      };
      checkTextEncoding(document, xmlInput(Buffer.from(`<?xml version="1.0" encoding="${encoding}"?><a/>`)));
    };
    expect(check('UTF-8', true)).not.toThrow();
    expect(check('ISO-8859-1', true)).toThrow(refused({ code: 'FIELDS_INCONSISTENT' }));
    for (const isText of [false, undefined]) expect(check('ISO-8859-1', isText)).not.toThrow();
  });

  describe('has no namespace URI with a character that is escaped here and there', () => {
    const check = (uri: string, name = 'xmlns:p'): void => {
      const quote = uri.includes('"') ? "'" : '"';
      const utf8 = Buffer.from(`<a><b ${name}=${quote}${uri}${quote}/></a>`);
      using document = XmlDocument.parse(utf8);
      checkNamespaces({ utf8 }, document);
    };

    it('as an ampersand', () => {
      for (const name of ['xmlns:p', 'xmlns']) expect(() => check('urn:&amp;', name)).toThrow('canonicalise differently');
      expect(() => check('urn:&#38;')).toThrow('canonicalise differently');
      expect(() => check(`urn:${'x'.repeat(600)}&amp;`)).toThrow('canonicalise differently');
    });

    // The parser takes none of them in a URI.
    it.each(['&lt;', '&#9;', '&#10;', '&#13;', '&quot;', '"'])('as %j', (character) => {
      expect(() => check(`urn:${character}`)).toThrow(XmlFault);
    });

    it('but references to others, and any value of other attributes', () => {
      expect(() => check('urn:&#120;')).not.toThrow();
      expect(() => check('urn:&amp;', 'b')).not.toThrow();
    });
  });
});

it('the references of existing signatures may take 25 million steps, 32 more for each octet, and 400 million at most', () => {
  expect([0, 1000, 10_000_000, 64 * 1024 * 1024].map((bytes) => earlierSteps(bytes).max)).toEqual([
    ...[25_000_000, 25_032_000, 345_000_000, 400_000_000],
  ]);
});

describe('a fault of XML', () => {
  const thrown = (error: Error, at?: string) => (): unknown =>
    refusingXml(() => {
      throw error;
    }, at);

  it('becomes a refusal of the document, at the parameter that it is about', () => {
    expect(thrown(new XmlFault('wrong'), '/at')).toThrow(refused({ code: 'DOCUMENT_INVALID', at: '/at', text: 'wrong' }));
    expect(thrown(new XmlFault('wrong'))).toThrow(refused({ code: 'DOCUMENT_INVALID', at: undefined }));
    expect(refusingXml(() => 7)).toBe(7);
  });

  it('is told from refusals, which get the place if they name none, and from other errors', () => {
    expect(thrown(new Refusal('UNSUPPORTED', { message: 'large' }), '/at')).toThrow(
      refused({ code: 'UNSUPPORTED', at: '/at', text: 'large' }),
    );
    expect(thrown(new Refusal('UNSUPPORTED', { at: '/other' }), '/at')).toThrow(refused({ code: 'UNSUPPORTED', at: '/other' }));
    const defect = new RangeError('a defect');
    expect(thrown(defect, '/at')).toThrow(defect);
  });
});
