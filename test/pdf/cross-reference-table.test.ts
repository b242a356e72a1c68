import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import { readTable } from '../../src/pdf/cross-reference-table.ts';
import { FileBytes } from '../../src/pdf/file-bytes.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { WorkLimit } from '../../src/pdf/work-limit.ts';

const free = '0000000007 65535 f \n';
const used = '0000000015 00002 n \n';

/** Reads what stands behind `xref`. */
function read(text: string, subsectionsMax = 10): ReturnType<typeof readTable> {
  return readTable(new FileBytes(bytesInMemory(Buffer.from(text, 'latin1')), new WorkLimit({ mustBeQuick: false })), 0, subsectionsMax);
}

describe('a cross-reference table', () => {
  it('has its entries, and ends where something else begins', () => {
    const table = `\n0 1\n${free}4 2\n${used}${free}`;
    const { subsections, end } = read(`${table}trailer`);
    expect(end).toBe(table.length);
    expect(subsections.map(({ first, count }) => [first, count])).toEqual([
      [0, 1],
      [4, 2],
    ]);
    expect([subsections[0]?.entry(0), subsections[1]?.entry(0)]).toEqual([
      { kind: 'FREE', next: 7, generation: 65_535 },
      { kind: 'FILE', offset: 15, generation: 2 },
    ]);
  });

  it.each([
    ['spaces', ' ', 60, 1],
    ['more spaces than a reader looks at', ' ', 61, 0],
    ['ends of lines', '\r\n', 30, 1],
    ['nothing', '', 0, 1],
  ])('has a subsection behind %s', (_, space, count, subsections) => {
    expect(read(`${space.repeat(count)}0 1\n${free}trailer`).subsections).toHaveLength(subsections);
  });

  it.each(['0 1\r', '0  1\n', '0 1 \t\r\n', '0000000000 0000000001\n'])('has a subsection that begins with %j', (header) => {
    expect(read(`\n${header}${free}trailer`).subsections).toHaveLength(1);
  });

  it.each(['0\n1\n', '0 1', '00000000000 1\n', '0 -1\n', 'a 0 1\n'])('has none that begins with %j', (header) => {
    expect(read(`\n${header}${free}trailer`).subsections).toHaveLength(0);
  });

  it('has so many subsections, and no more', () => {
    const table = `\n0 1\n${free}4 1\n${used}`;
    expect(read(`${table}trailer`, 2).subsections).toHaveLength(2);
    expect(() => read(`${table}trailer`, 1)).toThrow('too many subsections');
  });

  it('has numbers up to a hundred million', () => {
    expect(read(`\n99999999 1\n${used}trailer`).subsections).toHaveLength(1);
    expect(() => read(`\n100000000 1\n${used}trailer`)).toThrow('numbers that are too large');
  });

  it('may have a subsection without entries, whatever follows it', () => {
    expect(read('\n0 0\ntrailer').subsections).toHaveLength(1);
    expect(read('\n0 0\n').subsections).toHaveLength(1);
  });

  it('ends in the file', () => {
    for (const text of [`\n0 2\n${used}`, `\n0 1\n${used.slice(0, 18)}`]) expect(() => read(text)).toThrow('ends too early');
    expect(() => read(`\n0 1\n${used}`)).toThrow(PdfFault);
    expect(read(`\n0 1\n${used}t`).subsections).toHaveLength(1);
  });

  it.each(['\n', '\r'])('may have entries of 19 bytes that end with %j', (end) => {
    const short = (entry: string): string => entry.replace(' \n', end);
    const [subsection] = read(`\n0 3\n${short(free)}${short(used)}${short(used)}trailer`).subsections;
    expect(subsection?.entry(2)).toEqual({ kind: 'FILE', offset: 15, generation: 2 });
  });

  it.each([' \n', ' \r', '\r\n', '\n\n'])('has entries that end with %j', (end) => {
    const [subsection] = read(`\n0 2\n${free.replace(' \n', end)}${used.replace(' \n', end)}trailer`).subsections;
    expect(subsection?.entry(1)).toEqual({ kind: 'FILE', offset: 15, generation: 2 });
  });

  it.each<[string, string, string]>([
    ['a generation', '0000000015 65536 n \n', 'a generation that is too large'],
    ['a letter', '0000000015 00000 x \n', 'malformed'],
    ['one space more', '0000000015  0000 n \n', 'malformed'],
  ])('is refused for an entry with %s that none has', (_, entry, message) => {
    const reading = (): unknown => read(`\n0 3\n${free}${entry}${used}trailer`).subsections[0]?.entry(1);
    expect(reading).toThrow(PdfFault);
    expect(reading).toThrow(message);
    expect(read(`\n0 2\n${free}0000000015 65535 n \ntrailer`).subsections[0]?.entry(1)).toMatchObject({ generation: 65_535 });
  });
});
