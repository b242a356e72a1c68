import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
import { asicRootTag, checkContainer, containerEvidence, isAsic, type ContainerRules } from '../../../src/signatures/xades/container.ts';
import { zipEntries } from '../../support/zip-entries.ts';
import { joined } from '../software-signer.ts';

const asic: ContainerRules = { signatureName: 'META-INF/signatures.xml', level: 6 };
const plain: ContainerRules = { signatureName: 'signature.xml', level: 0 };
const modified = new Date('2026-03-04T05:06:07Z');
const files = [
  { name: 'a & "b".xml', mimeType: 'text/xml', content: Buffer.from('<a/>') },
  { name: 'data/é.txt', mimeType: 'text/plain; charset="utf-8"', content: Buffer.from('text '.repeat(100)) },
];

describe('a container', () => {
  it.each([
    ['META-INF/signatures.xml', true],
    ['META-INF/signatures001.xml', true],
    ['META-INF/signatures/a.xml', false],
    ['META-INF/signatures.xml.bak', false],
    ['META-INF/signature.xml', false],
    ['meta-inf/signatures.xml', false],
    ['a/META-INF/signatures.xml', false],
    ['signatures.xml', false],
  ])('with the signature at %s is an ASiC-E: %s', (signatureName, expected) => {
    expect(isAsic({ signatureName, level: 0 })).toBe(expected);
  });

  it('that is an ASiC-E has its media type first and uncompressed, the files, their list, and the signature', () => {
    const { content, mimeType, ending } = containerEvidence(asic, files, Buffer.from('<signature/>'), modified);
    expect([mimeType, ending]).toEqual(['application/vnd.etsi.asic-e+zip', '.asice']);
    const entries = zipEntries(joined(content));
    expect(entries.map(({ name }) => name)).toEqual([
      ...['mimetype', 'a & "b".xml', 'data/é.txt', 'META-INF/manifest.xml', 'META-INF/signatures.xml'],
    ]);
    const [type, , text, manifest, signature] = entries;
    expect([type?.isCompressed, type?.content.toString()]).toEqual([false, 'application/vnd.etsi.asic-e+zip']);
    expect([text?.isCompressed, text?.content.toString()]).toEqual([true, 'text '.repeat(100)]);
    expect(signature?.content.toString()).toBe('<signature/>');
    const entry = (path: string, kind: string): string =>
      `<manifest:file-entry manifest:full-path="${path}" manifest:media-type="${kind}"></manifest:file-entry>`;
    expect(manifest?.content.toString()).toBe(
      [
        '<?xml version="1.0" encoding="UTF-8"?>\n',
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2">',
        entry('/', 'application/vnd.etsi.asic-e+zip'),
        entry('a &#x26; &#x22;b&#x22;.xml', 'text/xml'),
        entry('data/&#xE9;.txt', 'text/plain; charset=&#x22;utf-8&#x22;'),
        '</manifest:manifest>',
      ].join(''),
    );
    expect(asicRootTag).toBe('<asic:XAdESSignatures xmlns:asic="http://uri.etsi.org/02918/v1.2.1#">');
  });

  it('that is none has the files and the signature alone', () => {
    const { content, mimeType, ending } = containerEvidence(plain, files, Buffer.from('<signature/>'), modified);
    expect([mimeType, ending]).toEqual(['application/zip', '.zip']);
    expect(zipEntries(joined(content)).map(({ name, isCompressed }) => [name, isCompressed])).toEqual([
      ['a & "b".xml', false],
      ['data/é.txt', false],
      ['signature.xml', false],
    ]);
  });

  it.each<[ContainerRules, string, number, readonly [string, string] | undefined]>([
    [plain, 'a.xml', 1, undefined],
    [plain, 'mimetype', 1, undefined],
    [plain, 'META-INF/a.xml', 1, undefined],
    [plain, 'SIGNATURE.xml', 1, ['FIELDS_INCONSISTENT', '/at/zipSignatureFileName']],
    [asic, 'mimetype', 1, ['FIELDS_INCONSISTENT', '/at/zipSignatureFileName']],
    [asic, 'MimeType', 1, ['FIELDS_INCONSISTENT', '/at/zipSignatureFileName']],
    [asic, 'META-INF/manifest.xml', 1, ['FIELDS_INCONSISTENT', '/at/zipSignatureFileName']],
    [asic, 'META-INF/signatures.xml', 1, ['FIELDS_INCONSISTENT', '/at/zipSignatureFileName']],
    [asic, 'Meta-Inf/a.xml', 1, ['FIELDS_INCONSISTENT', '/at/zipSignatureFileName']],
    [asic, 'a/META-INF/a.xml', 1, undefined],
    [asic, 'META-INF', 1, ['FIELDS_INCONSISTENT', '/at/zipSignatureFileName']],
    // The signature has 16 MiB at most.
    [plain, 'a', 2 ** 32 - 2 ** 24 - 1000, undefined],
    [plain, 'a', 2 ** 32 - 2 ** 24, ['UNSUPPORTED', '/inputDocuments']],
  ])('%j for the file %s of %d bytes', (rules, name, bytes, expected) => {
    const refusal = (): readonly [string, string | undefined] | undefined => {
      try {
        checkContainer(
          rules,
          [
            { name: 'other', bytes: 1 },
            { name, bytes },
          ],
          '/at',
        );
        return undefined;
      } catch (error) {
        if (error instanceof Refusal) return [error.code, error.at];
        throw error;
      }
    };
    expect(refusal()).toEqual(expected);
  });
});
