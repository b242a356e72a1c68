import { describe, expect, it } from 'vitest';
import type { ByteSource } from '../../src/asn1/byte-source.ts';
import { PdfDictionary, PdfName, PdfReference, PdfStream } from '../../src/pdf/objects.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { PdfFile } from '../../src/pdf/pdf-file.ts';
import { Revision } from '../../src/pdf/revision.ts';
import { madePdf, revised, type MadeOptions } from './made-pdf.ts';
import { opened } from './opened.ts';

const objects = {
  1: '<</Type /Catalog /Pages 2 0 R>>',
  2: '<</Type /Pages /Kids []>>',
  3: '[<0102> <0304>]',
  4: { entries: '', bytes: Buffer.from('q Q') },
};
const reference = (number: number, generation = 0): PdfReference => new PdfReference(number, generation);
const name = new PdfName('N');
const fileWith = (options: MadeOptions): Buffer => madePdf(objects, options);
const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
/** Twenty characters of a cross-reference table. */
const entry = (offset: number, generation = 0): string => `${String(offset).padStart(10, '0')} ${String(generation).padStart(5, '0')} n \n`;

/** What is written behind a file, as text. */
function written(pdf: Uint8Array, change: (revision: Revision) => void): string {
  const revision = new Revision(opened(pdf));
  change(revision);
  return Buffer.from(revision.write().bytes).toString('latin1');
}
const usual = (revision: Revision): void => {
  revision.set(reference(3), name);
  revision.set(reference(1), new PdfDictionary());
  revision.set(reference(4, 7), name);
};

describe('a cross-reference table of a revision', () => {
  const ids = (text: string): readonly string[] => /\/ID \[<?(.*?)>? <([0-9a-f]+)>\]/.exec(text)?.slice(1, 3) ?? [];

  it('has the objects in their order, the trailer that there was, and nothing that is about another section', () => {
    const ofSection = '/Type /XRef/W [1]/Index [0 1]/Filter /A/DecodeParms [1]/Length 5/F (f)/FFilter /B/FDecodeParms [2]/DL 9';
    const pdf = fileWith({ trailer: `/Info 3 0 R/Own [1]${ofSection}/ID 3 0 R` });
    const text = written(pdf, usual);
    const at = (number: number): number => pdf.length + text.indexOf(`${number} `);
    const body = '1 0 obj\n<<>>\nendobj\n3 0 obj\n/N\nendobj\n4 7 obj\n/N\nendobj\n';
    const [first = '', second = ''] = ids(text);
    const start = pdf.length + body.length;
    const previous = pdf.toString('latin1').lastIndexOf('xref\n0');
    expect(text).toBe(
      `${body}xref\n0 1\n0000000000 65535 f \n1 1\n${entry(pdf.length)}3 2\n${entry(at(3))}${entry(at(4), 7)}` +
        `trailer\n<</Size 5/Root 1 0 R/Info 3 0 R/Own [1]/ID [<${first}> <${second}>]/Prev ${previous}>>\nstartxref\n${start}\n%%EOF\n`,
    );
    expect([first, second]).toEqual(['0102', expect.stringMatching(/^[0-9a-f]{32}$/)]);
  });

  it('counts from the header of the file', () => {
    const pdf = fileWith({});
    const moved = Buffer.concat([latin('12345\n'), pdf]);
    const [own, other] = [written(pdf, usual), written(moved, usual)].map((text) => text.slice(text.indexOf('xref'), text.indexOf('/ID')));
    expect(other).toBe(own);
  });

  it.each([
    ['0000000003 00000 f', '0000000003 00000 f'],
    ['0000000000 65535 f', '0000000000 65535 f'],
    ['0000000003 65535 f', '0000000003 65535 f'],
    // Of an object that there is, nothing can be free.
    ['0000000009 00000 n', '0000000000 65535 f'],
    // Free objects have numbers that the file has.
    ['0000000005 00000 f', '0000000000 65535 f'],
    ['0000000003 65536 f', '0000000000 65535 f'],
  ])('begins the free objects as the file does: %s', (head, expected) => {
    const pdf = latin(fileWith({}).toString('latin1').replace('0000000000 65535 f', head));
    expect(written(pdf, usual)).toContain(`xref\n0 1\n${expected} \n`);
  });

  it('has no head of free objects that it has no room for, from a stream', () => {
    const stream = (row: string): Buffer => {
      const head = '%PDF-1.7\n1 0 obj\n<</Type /Catalog /Pages 2 0 R>>\nendobj\n';
      const rows = `${row} 010000000000000009000000000000>`;
      const entries = `/Type /XRef /W [1 8 6] /Size 4 /Index [0 2] /Root 1 0 R /Filter /ASCIIHexDecode /Length ${rows.length}`;
      return latin(`${head}3 0 obj\n<<${entries}>>\nstream\n${rows}\nendstream\nendobj\nstartxref\n${head.length}\n%%EOF\n`);
    };
    const heads = ['000000000000000002000000000000', '000000000300000000000000000000', '000000000000000002000000010000'].map(stream);
    const ofTable = heads.map((pdf) => {
      const older = revised(pdf, { 2: 'null' }).toString('latin1').replace('0 1\n0000000000 65535 f \n', '');
      return written(latin(older), usual);
    });
    expect(ofTable.map((text) => /xref\n0 1\n(.*) \n/.exec(text)?.[1])).toEqual([
      '0000000002 00000 f',
      '0000000000 65535 f',
      '0000000000 65535 f',
    ]);
  });

  it('is written behind one, whatever older sections are', () => {
    const older = revised(fileWith({ shape: 'STREAM' }), { 3: 'null' });
    expect(written(older, usual)).toContain('\ntrailer\n');
    expect(written(revised(fileWith({}), { 3: 'null' }, { shape: 'STREAM' }), usual)).not.toContain('trailer');
  });

  it('begins on a line of its own, whatever ends the one before', () => {
    const pdf = fileWith({});
    const begin = (end: string): string => written(Buffer.concat([pdf.subarray(0, -1), latin(end)]), usual).slice(0, 2);
    expect(['\n', '\r', '\r\n', '', ' '].map(begin)).toEqual(['1 ', '1 ', '1 ', '\n1', '\n1']);
  });

  it('has an ID of its own: by what it has, and by where it is', () => {
    const [pdf, longer] = [fileWith({}), fileWith({ trailer: '/Own 1' })];
    const empty = written(pdf, (revision) => {
      revision.set(reference(1), new PdfDictionary());
    });
    const all = [written(pdf, usual), written(longer, usual), empty].map(ids);
    // A file without an ID has the first one from then on.
    for (const [first, second] of all) expect(first).toBe(second);
    expect(new Set(all.map(([first]) => first)).size).toBe(3);
  });

  it('has offsets of ten digits, or is refused', () => {
    /** A file of which the cross-reference of a revision begins at an offset. */
    const fileOf = (start: number): PdfFile => {
      const body = latin(fileWith({}).toString('latin1').split('startxref')[0] ?? '');
      const table = body.indexOf('xref\n0');
      const end = latin(`\nstartxref\n${table}\n%%EOF\n`);
      const bytes = start - '1 0 obj\n/N\nendobj\n'.length;
      const source: ByteSource = {
        bytes,
        windowAt(offset) {
          if (offset < body.length) return body.subarray(offset);
          const before = bytes - end.length - offset;
          return before > 0 ? Buffer.alloc(Math.min(before, 65_536), ' ') : end.subarray(-before);
        },
      };
      return new PdfFile(source);
    };
    const write = (start: number): string => {
      const revision = new Revision(fileOf(start));
      revision.set(reference(1), name);
      return Buffer.from(revision.write().bytes).toString('latin1');
    };
    expect(write(9_999_999_999)).toContain('startxref\n9999999999\n');
    expect(() => write(10_000_000_000)).toThrow(new PdfFault('the file is too large for its cross-reference table'));
  });
});

describe('a cross-reference stream of a revision', () => {
  /** Its dictionary, and its rows in hexadecimal digits. */
  function streamIn(text: string): { readonly entries: string; readonly rows: readonly string[] } {
    const [, entries = '', content = ''] = /obj\n<<(.*)>>\nstream\n([^]*)\nendstream\nendobj\nstartxref/.exec(text) ?? [];
    const width = 3 + Number(/\/W \[1 (\d) 2\]/.exec(entries)?.[1]);
    const hex = latin(content).toString('hex');
    return { entries, rows: hex.match(new RegExp(`.{${2 * width}}`, 'g')) ?? [] };
  }

  it('has the first free object, the objects in their order, and itself', () => {
    const pdf = fileWith({ shape: 'STREAM', isCompressed: true });
    const text = written(pdf, usual);
    const hex = (what: string): string => (pdf.length + text.indexOf(what)).toString(16).padStart(4, '0');
    const { entries, rows } = streamIn(text);
    expect(rows).toEqual([
      '000000ffff',
      `01${hex('1 0 obj')}0000`,
      `01${hex('3 0 obj')}0000`,
      `01${hex('4 7 obj')}0007`,
      `01${hex('6 0 obj')}0000`,
    ]);
    const previous = pdf.toString('latin1').lastIndexOf('5 0 obj');
    expect(entries.replace(/\/ID \[.*?\]/, '')).toBe(
      `/Type /XRef/Size 7/Root 1 0 R/Prev ${previous}/W [1 2 2]/Index [0 1 1 1 3 2 6 1]/Length 25`,
    );
    expect(text.endsWith(`startxref\n${pdf.length + text.indexOf('6 0 obj')}\n%%EOF\n`)).toBe(true);
  });

  it('counts from the header of the file', () => {
    const pdf = fileWith({ shape: 'STREAM' });
    const [own, other] = [pdf, Buffer.concat([latin('12345\n'), pdf])].map((one) => streamIn(written(one, usual)).rows);
    expect(other).toEqual(own);
  });

  it('has as many bytes for offsets as they take', () => {
    const at = (padding: number): string => written(madePdf({ ...objects, 3: `(${'x'.repeat(padding)})` }, { shape: 'STREAM' }), usual);
    const start = (text: string): number => Number(/startxref\n(\d+)/.exec(text)?.[1]);
    const padding = 65_535 - start(at(60_000)) + 60_000;
    expect([start(at(padding)), streamIn(at(padding)).entries]).toEqual([65_535, expect.stringContaining('/W [1 2 2]')]);
    expect([start(at(padding + 1)), streamIn(at(padding + 1)).entries]).toEqual([65_536, expect.stringContaining('/W [1 3 2]')]);
    expect(streamIn(at(padding + 1)).rows.at(-1)).toBe('010100000000');
  });

  it('begins the free objects as the file does', () => {
    const rows = (head: string, size?: number): string | undefined => {
      const pdf = fileWith({ shape: 'STREAM', ...(size === undefined ? {} : { size }) }).toString('latin1');
      return streamIn(written(latin(pdf.replace('\0\0\0\0\0\xff\xff', head)), usual)).rows[0];
    };
    expect(rows('\0\0\0\0\x04\0\x09')).toBe('0000040009');
    expect(rows('\0\0\0\0\x08\0\x09')).toBe('000000ffff');
    // Numbers of objects can be larger than offsets.
    expect(rows('\0\0\x01\0\x02\0\x09', 70_000)).toBe('000100020009');
  });
});

describe('the objects of a revision', () => {
  it('are followed: those that are new, and those that they lead to', () => {
    const file = opened(fileWith({}));
    const revision = new Revision(file);
    expect(revision.isEmpty).toBe(true);
    revision.set(reference(3), reference(2));
    const added = revision.add(reference(3));
    expect(revision.isEmpty).toBe(false);
    expect(revision.resolved(added)).toBe(file.object(reference(2)));
    revision.set(reference(2), name);
    expect(revision.resolved(added)).toBe(name);
    expect(revision.get(PdfDictionary.of({ A: added }), 'A')).toBe(name);
  });

  it('have numbers of their own, before they are there', () => {
    const revision = new Revision(opened(fileWith({})));
    expect([revision.reserve(), revision.reserve(), revision.add(name)].map(String)).toEqual(['5 0 R', '6 0 R', '7 0 R']);
  });

  it('have generations up to 65,535', () => {
    const set = (generation: number) => (): string =>
      written(fileWith({}), (revision) => {
        revision.set(reference(3, generation), name);
      });
    expect(set(65_535)()).toContain('3 65535 obj');
    expect(set(65_536)).toThrow(PdfFault);
  });

  it('are no streams of the file, which stand there already', () => {
    const file = opened(fileWith({}));
    const revision = new Revision(file);
    revision.set(reference(4), file.object(reference(4)));
    expect(() => revision.write()).toThrow('a stream of the file cannot be written again');
    revision.set(reference(4), new PdfStream(PdfDictionary.of({ Length: 99 }), Buffer.from('abc')));
    expect(Buffer.from(revision.write().bytes).toString()).toContain('4 0 obj\n<</Length 3>>\nstream\nabc\nendstream\nendobj\n');
  });
});
