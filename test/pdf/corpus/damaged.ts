import { deflateSync } from 'node:zlib';
import { madePdf, revised, usualObjects, type MadeObjects } from '../made-pdf.ts';
import type { CorpusFile } from './producers.ts';

/** Files that are damaged, hostile or odd. */
export function damagedFiles(): readonly CorpusFile[] {
  const objects = usualObjects();
  const sound = madePdf(objects);
  const packed = madePdf(objects, { shape: 'OBJECT_STREAMS', isCompressed: true });
  const replaced = (pattern: RegExp, by: string, bytes = sound): Buffer =>
    Buffer.from(bytes.toString('latin1').replace(pattern, by), 'latin1');
  const start = /startxref\s+(\d+)/;
  const files: Record<string, Buffer> = {
    'no bytes': Buffer.alloc(0),
    'no PDF': Buffer.from('Dear Sir or Madam'),
    'startxref too low': replaced(start, 'startxref\n7'),
    'startxref too high': replaced(start, 'startxref\n99999999'),
    'startxref off by one': replaced(start, `startxref\n${Number(start.exec(sound.toString('latin1'))?.[1]) + 1}`),
    'startxref at white space': replaced(start, `startxref\n${Number(start.exec(sound.toString('latin1'))?.[1]) - 1}`),
    'no endobj in a page': replaced(/(3 0 obj\n[^\n]+\n)endobj/, '$1      '),
    'no endobj elsewhere': replaced(/(16 0 obj\n[^\n]+\n)endobj/, '$1      '),
    'page tree with a cycle': madePdf({ ...objects, 4: '<</Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 2>>' }),
    'first page is its own tree': madePdf({ ...objects, 2: '<</Type /Pages /Kids [2 0 R] /Count 2>>' }),
    'page twice in the tree': madePdf({ ...objects, 2: '<</Type /Pages /Kids [3 0 R 3 0 R] /Count 2 /MediaBox [0 0 9 9]>>' }),
    'no pages': madePdf({ ...objects, 2: '<</Type /Pages /Kids [] /Count 0>>' }),
    'page tree of 100,000 kids': manyKids(100_000),
    'cross-reference to itself': replaced(/\/Size 17/, `/Size 17 /Prev ${start.exec(sound.toString('latin1'))?.[1]}`),
    'negative length': replaced(/\/Length \d+/, '/Length -1', metadataPdf()),
    'huge length': replaced(/\/Length \d+/, '/Length 99999999999', metadataPdf()),
    'length that needs itself': replaced(/\/Length \d+/, '/Length 17 0 R', metadataPdf()),
    'object beyond Size': madePdf(objects, { size: 10 }),
    'Size far too high': madePdf(objects, { size: 900_000 }),
    'wrong generation of the catalog': replaced(/\/Root 1 0 R/, '/Root 1 1 R'),
    'wrong generation of a page': madePdf({ ...objects, 2: '<</Type /Pages /Kids [3 1 R 5 0 R] /Count 2 /MediaBox [0 0 9 9]>>' }),
    'object number that is another one': replaced(/\n3 0 obj/, '\n8 0 obj'),
    'key twice': madePdf({ ...objects, 3: '<</Type /Page /Parent 2 0 R /Contents 7 0 R /Contents 13 0 R>>' }),
    'references in a circle': madePdf({ ...objects, 9: '10 0 R', 10: '9 0 R' }),
    'form with a cycle': madePdf({ ...objects, 11: '<</T (a) /Kids [11 0 R]>>' }),
    'object stream in itself': replaced(/\/Type \/ObjStm/, '/Type /ObjStm /Extends 17 0 R', packed),
    'object stream of 4 GB': bombPdf(),
    'metadata of 100 MB': madePdf({
      ...{ ...objects, 1: '<</Type /Catalog /Pages 2 0 R /Metadata 17 0 R>>' },
      17: { entries: '/Type /Metadata /Filter /FlateDecode', bytes: deflateSync(Buffer.alloc(100_000_000, 0x20)) },
    }),
    'array of a million numbers': madePdf({ ...objects, 13: `[${'0 '.repeat(1_000_000)}]` }),
    'array of 5,000,000 dictionaries': madePdf({ ...objects, 9: `<</Fields [${'<<>>'.repeat(5_000_000)}]>>` }),
    'strings that overlap': overlappingPdf(),
    'unreferenced copy of a page': Buffer.from(
      sound
        .toString('latin1')
        .replace('16 0 obj\n<</Creator', `3 0 obj\n<</Type /Page /Parent 2 0 R /Contents 16 0 R>>\nendobj\n16 0 obj\n<</Creator`),
      'latin1',
    ),
    'copy of a page behind the end': Buffer.concat([
      sound,
      Buffer.from('3 0 obj\n<</Type /Page /Parent 2 0 R /Contents 12 0 R>>\nendobj\nstartxref\n'),
      Buffer.from(`${start.exec(sound.toString('latin1'))?.[1]}\n%%EOF\n`),
    ]),
    'bytes before the header': Buffer.concat([Buffer.from('HTTP/1.1 200 OK\n\n'), sound]),
    'bytes behind the end': Buffer.concat([sound, Buffer.alloc(1000, 0x0a)]),
    'a hundred revisions': manyRevisions(sound, 100),
    'rotation of 45 degrees': madePdf({ ...objects, 3: '<</Type /Page /Parent 2 0 R /Rotate 45>>' }),
    'hexadecimal string without its end': madePdf({ ...objects, 13: '[<41]' }),
    'a name of 100,000 characters': madePdf({ ...objects, 9: `<</Fields [] /${'A'.repeat(100_000)} 1>>` }),
    'another security handler': replaced(/\/Size 17/, '/Size 17 /Encrypt <</Filter /Adobe.PubSec /V 4>>'),
  };
  for (let part = 1; part < 40; part += 1) files[`truncated to ${part} of 40 parts`] = sound.subarray(0, (sound.length * part) / 40);
  for (let part = 1; part < 20; part += 1) files[`packed, truncated to ${part} of 20`] = packed.subarray(0, (packed.length * part) / 20);
  return Object.entries(files).map(([name, bytes]) => ({ producer: 'damaged', name, bytes }));
}

export function manyKids(count: number): Buffer {
  const objects: Record<number, string> = { 1: '<</Type /Catalog /Pages 2 0 R>>' };
  const kids = Array.from({ length: count }, (_, index) => `${index + 3} 0 R`).join(' ');
  objects[2] = `<</Type /Pages /Count ${count} /MediaBox [0 0 100 100] /Kids [${kids}]>>`;
  for (let number = 3; number < count + 3; number += 1) objects[number] = '<</Type /Page /Parent 2 0 R>>';
  return madePdf(objects);
}

function metadataPdf(): Buffer {
  const objects: MadeObjects = {
    1: '<</Type /Catalog /Pages 2 0 R /Metadata 4 0 R>>',
    2: '<</Type /Pages /Kids [3 0 R] /Count 1 /MediaBox [0 0 100 100]>>',
    3: '<</Type /Page /Parent 2 0 R>>',
    4: { entries: '/Type /Metadata', bytes: Buffer.from('<x/>') },
  };
  return madePdf({ ...objects, 17: 'null' });
}

/** The catalog is in an object stream that is compressed a thousandfold, twice. */
function bombPdf(): Buffer {
  const inner = deflateSync(Buffer.alloc(256 * 1024 * 1024, 0x20));
  const bytes = deflateSync(Buffer.concat(Array<Buffer>(16).fill(inner)));
  const made = madePdf(
    { ...usualObjects(), 20: { entries: '/Type /ObjStm /N 1 /First 8 /Filter [/FlateDecode /FlateDecode]', bytes } },
    { shape: 'STREAM' },
  );
  // The entry of object 1 says that it is in the stream.
  const text = made.toString('latin1');
  const at = text.lastIndexOf('stream\n', text.lastIndexOf('endstream') - 10) + 'stream\n'.length + 7;
  made.set([2, 0, 0, 0, 20, 0, 0], at);
  return made;
}

/** Each of many fields is a string that has the next ones in it. */
function overlappingPdf(): Buffer {
  const count = 5000;
  const objects: Record<number, string> = { ...(usualObjects() as Record<number, string>) };
  const references = Array.from({ length: count }, (_, index) => `${index + 20} 0 R`).join(' ');
  objects[9] = `<</Fields [10 0 R] /DR [${references}]>>`;
  objects[19] = Array.from({ length: count }, (_, index) => `( ${index + 20} 0 obj`).join('') + ')'.repeat(count);
  return madePdf(objects);
}

function manyRevisions(pdf: Buffer, count: number): Buffer {
  let bytes = pdf;
  for (let number = 0; number < count; number += 1) bytes = revised(bytes, { 15: `<</Title (Revision ${number})>>` });
  return bytes;
}
