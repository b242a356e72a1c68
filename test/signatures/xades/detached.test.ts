import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { detachedFormat, type DetachedParameters } from '../../../src/signatures/xades/detached.ts';
import { chainOf } from '../software-signer.ts';
import { detachedParameters, documentNamed, everywhere, made, signer } from './xades-signer.ts';
import { xmlsec1Verdicts } from './xmlsec1.ts';

const documents = [documentNamed('<a>é<!-- c --></a>', 'a b.xml'), documentNamed('text', 'b.txt')];

const signed = (more: Partial<DetachedParameters> = {}, list = documents): Buffer => made(detachedFormat, list, detachedParameters(more));

/** The files of a ZIP container, by the program `unzip` or Python. */
function unpacked(zip: Uint8Array): Map<string, Buffer> {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-container-'));
  try {
    writeFileSync(join(directory, 'container.zip'), zip);
    const script = 'import sys,zipfile;z=zipfile.ZipFile("container.zip");z.extractall("out");print("\\n".join(z.namelist()))';
    const names = execFileSync('python3', ['-c', script], { cwd: directory, encoding: 'utf8' }).trim().split('\n');
    return new Map(names.map((name) => [name, readFileSync(join(directory, 'out', name))]));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** xmlsec1 opens files by the URI as it is written. */
const byUri = { 'a%20b.xml': '<a>é<!-- c --></a>', 'b.txt': 'text' };

describe('a detached signature', () => {
  it('is completed where untrusted XML is parsed, if an archive time-stamp canonicalises documents', () => {
    for (const [documentCanonicalisation, lane] of [
      [undefined, 'hashing'],
      ['C14N', 'parsing'],
    ] as const) {
      const [prepared] = detachedFormat.prepare(documents, detachedParameters({ documentCanonicalisation }), chainOf(signer), {
        now: new Date(),
      });
      expect(prepared && detachedFormat.completion(prepared.state).lane).toBe(lane);
    }
  });

  it('refuses an ID that is too long for a name, however often a template has it', () => {
    const template = '${file_name}'.repeat(80);
    for (const id of ['x'.repeat(65_536), 'あ'.repeat(22_000), 'x'.repeat(1000)])
      expect(() => signed({ template }, [{ id, fileName: undefined, source: { content: Buffer.from('x') } }])).toThrow(
        'has more than 65535 bytes in UTF-8',
      );
  });

  it('is one over all documents, named by their encoded names', () => {
    const xml = signed();
    expect(xml.toString().match(/URI="[^#"]*"/g)).toEqual(['URI="a%20b.xml"', 'URI="b.txt"']);
    expect(xmlsec1Verdicts(xml, { files: { 'a b.xml': byUri['a%20b.xml'], ...byUri } })).toEqual(['OK']);
    expect(xmlsec1Verdicts(xml, { files: { ...byUri, 'a b.xml': '<a/>', 'a%20b.xml': '<a/>' } })).not.toEqual(['OK']);
  });

  it.each([undefined, 'signature.xml', 'META-INF/signatures.xml'])(
    'has properties as they are around it, in the file %s',
    (signatureName) => {
      const container = signatureName === undefined ? undefined : ({ signatureName, level: 0 } as const);
      for (const algorithm of ['C14N', 'C14N_11'] as const)
        expect(() => signed({ container, canonicalisation: everywhere(algorithm) })).not.toThrow();
    },
  );

  it('canonicalises the documents that are XML, if the caller says how', () => {
    const xml = signed({ documentCanonicalisation: 'EXC_C14N' });
    const files = { 'a b.xml': '<a \n>é<!-- c --></a >', 'a%20b.xml': '<a \n>é<!-- c --></a >', 'b.txt': 'text' };
    expect(xml.toString().match(/<ds:Transforms>/g)?.length).toBe(2);
    expect(xmlsec1Verdicts(xml, { files })).toEqual(['OK']);
  });

  it('signs a manifest of them', () => {
    const xml = signed({ hasManifest: true });
    const files = { 'a b.xml': byUri['a%20b.xml'], ...byUri };
    expect(xmlsec1Verdicts(xml, { files })).toEqual(['OK']);
    expect(xml.toString()).toMatch(/<ds:Manifest Id="[^"]*"><ds:Reference [^>]*URI="a%20b\.xml">/);
    expect(xmlsec1Verdicts(Buffer.from(xml.toString().replace('a%20b.xml', 'b.txt')), { files })).not.toEqual(['OK']);
  });

  it('names them by a template', () => {
    const template = 'data/${date}-${GUID}/${file_name}';
    const uris = Array.from(
      signed({ template })
        .toString()
        .matchAll(/URI="([^#"]*)"/g),
      ([, uri]) => uri ?? '',
    );
    const form = /^data\/\d{8}T\d{6}Z-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}\/(?:a%20b\.xml|b\.txt)$/;
    expect(uris).toEqual([expect.stringMatching(form), expect.stringMatching(form)]);
    expect(uris[0]?.slice(0, 60)).not.toBe(uris[1]?.slice(0, 60));
  });

  it.each([0, 6] as const)('is in a ZIP container with them, compressed by level %i', (level) => {
    const files = unpacked(signed({ container: { signatureName: 'signature.xml', level }, directory: 'data' }));
    expect([...files.keys()]).toEqual(['data/a b.xml', 'data/b.txt', 'signature.xml']);
    expect(files.get('data/b.txt')?.toString()).toBe('text');
    expect(files.get('signature.xml')?.toString()).toContain('URI="data/a%20b.xml"');
  });

  it('is in an ASiC-E container with its media type first, at byte 38', () => {
    const container = signed({ container: { signatureName: 'META-INF/signatures.xml', level: 9 } });
    expect(container.toString('latin1', 30, 69)).toBe('mimetypeapplication/vnd.etsi.asic-e+zip');
    const files = unpacked(container);
    expect([...files.keys()]).toEqual(['mimetype', 'a b.xml', 'b.txt', 'META-INF/manifest.xml', 'META-INF/signatures.xml']);
    expect(files.get('META-INF/signatures.xml')?.toString()).toMatch(/<asic:XAdESSignatures [^>]*><ds:Signature /);
    expect(files.get('META-INF/manifest.xml')?.toString()).toContain('manifest:full-path="a b.xml"');
  });

  it.each<[string, Partial<DetachedParameters>, typeof documents, string]>([
    ['documents with the same name', {}, [documentNamed('1', 'a'), documentNamed('2', 'A')], 'two documents have the same name'],
    ['a template that names all alike', { template: 'x' }, documents, 'two documents have the same name'],
    ['a template that leaves the directory', { template: '../${file_name}' }, documents, 'contains "." or ".." as a segment'],
    ['a template with encoded separators', { template: '%2e%2e/${file_name}' }, documents, 'contains "." or ".." as a segment'],
    [
      'a document named like the signature',
      { container: { signatureName: 'b.txt', level: 0 } },
      documents,
      'has a name that the container needs for itself',
    ],
    [
      'a document among the signatures',
      { container: { signatureName: 'META-INF/signatures.xml', level: 0 }, template: 'META-INF/${file_name}' },
      documents,
      'which an ASiC-E container needs for itself',
    ],
    [
      'a document in the place of the media type',
      { container: { signatureName: 'META-INF/signatures.xml', level: 0 } },
      [documentNamed('1', 'mimetype')],
      'has a name that the container needs for itself',
    ],
  ])('is refused for %s', (_name, more, list, message) => {
    expect(() => signed(more, list)).toThrow(message);
  });
});
