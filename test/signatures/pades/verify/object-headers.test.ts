import { describe, expect, it } from 'vitest';
import { SignatureBroken } from '../../../../src/cms/verify-signer-info.ts';
import { checkObjectHeaders } from '../../../../src/signatures/pades/verify/object-headers.ts';
import { madePdf, revised, usualObjects, type MadeOptions } from '../../../pdf/made-pdf.ts';
import { opened } from '../../../pdf/opened.ts';

const pieceBytes = 65_536;
const signed = madePdf(usualObjects());
/** What may stand before the header of a file. */
const prefix = Buffer.from('x\n'.repeat(450));

/** What is found behind `signed` in a file with this stream in a revision. */
function found(stream: string, { start = signed.length, options = {} }: { start?: number; options?: MadeOptions } = {}): string {
  const pdf = revised(signed, { 20: { entries: '', bytes: Buffer.from(stream, 'latin1') } }, options);
  try {
    checkObjectHeaders(opened(pdf), start);
    return 'nothing';
  } catch (error) {
    if (error instanceof SignatureBroken) return error.message;
    throw error;
  }
}
const hidden = (number: number): unknown =>
  expect.stringContaining(`are followed by an object ${number} that the cross-reference does not name`);

describe('an object behind a signature that the cross-reference does not name', () => {
  it.each([
    ['3 0 obj', 3],
    ['a 3 0 obj<<>>', 3],
    ['\n3 0 obj\n', 3],
    ['3 0obj', 3],
    ['3\t\0 00 \r\n\f obj', 3],
    ['13 0 obj', 13],
    ['003 0 obj', 3],
    ['99 0 obj', 99],
    ['3 0 obj%', 3],
    ['3 0 obj/A', 3],
    ['1 0 obj 3 0 obj', 1],
    ['obj 3 0 obj', 3],
    [`3 ${' '.repeat(250)}0 obj`, 3],
  ])('is found: %j', (stream, number) => {
    expect(found(stream)).toEqual(hidden(number));
  });

  it.each([
    '3 0 object',
    '3 0 obj1',
    '0 obj',
    'obj',
    '3 0 R',
    '3 obj',
    '3 a obj',
    '30obj',
    '3 0 endobj',
    '3,0 obj',
    '3 0 ob j',
    '3 -0 obj',
  ])('is not there in %j', (stream) => {
    expect(found(stream)).toBe('nothing');
  });

  it('is found wherever the pieces end in which the file is read', () => {
    const head = '20 0 obj\n<< /Length 65700>>\nstream\n';
    // The stream begins behind this; the keyword is moved over the end of the first piece.
    for (let before = pieceBytes - head.length - 24; before <= pieceBytes - head.length + 12; before += 1)
      expect(found(`${'x'.repeat(before)} 3 0 obj ${'x'.repeat(140_000)}`)).toEqual(hidden(3));
    for (const before of [2 * pieceBytes - 60, 2 * pieceBytes - 45, 2 * pieceBytes - 40, 2 * pieceBytes])
      expect(found(`${'x'.repeat(before)} 3 ${' '.repeat(120)} 0 obj`)).toEqual(hidden(3));
  });

  it('is found from the offset on that is given', () => {
    const pdf = revised(signed, { 20: { entries: '', bytes: Buffer.from('3 0 obj') } });
    const at = pdf.lastIndexOf('3 0 obj');
    for (const start of [signed.length, at]) expect(() => checkObjectHeaders(opened(pdf), start)).toThrow(SignatureBroken);
    for (const start of [at + 1, pdf.length]) expect(() => checkObjectHeaders(opened(pdf), start)).not.toThrow();
  });

  it('is refused where its beginning cannot be read', () => {
    expect(found(`3 ${' '.repeat(255)} obj`)).toContain('whose beginning cannot be read');
    expect(found(`${'1'.repeat(300)} 0 obj`)).not.toBe('nothing');
  });

  it('is none of those that the cross-reference names, whatever it is', () => {
    for (const shape of ['TABLE', 'STREAM', 'OBJECT_STREAMS', 'HYBRID'] as const) {
      const options: MadeOptions = shape === 'HYBRID' ? { shape, outside: [1, 2] } : { shape };
      const file = opened(revised(signed, { 15: '<</Title (Two)>>', 21: '[1 2 (3 0 R)]' }, options));
      expect(() => checkObjectHeaders(file, signed.length)).not.toThrow();
      expect(() => checkObjectHeaders(file, 0)).not.toThrow();
    }
  });

  it('is one before the place that the cross-reference names, not one behind it', () => {
    const early = Buffer.concat([signed, Buffer.from('15 0 obj\n[]\nendobj\n')]);
    const pdf = revised(
      Buffer.concat([
        early,
        Buffer.from(
          signed
            .toString('latin1')
            .slice(-40)
            .replace(/^[^]*?(?=startxref)/, ''),
        ),
      ]),
      {
        15: '<</Title (Two)>>',
      },
    );
    expect(() => checkObjectHeaders(opened(pdf), signed.length)).not.toThrow();
    expect(found('15 0 obj')).toEqual(hidden(15));
  });

  it.each(['\n', '\0', '\t', '\f', '\r', ' '])('is none whose place is that of white space before it: %j', (one) => {
    const finding = (count: number, head: Buffer) => (): void => {
      const space = one.repeat(count);
      const revision = revised(signed, { 15: '<</Title (Two)>>' }).toString('latin1', signed.length);
      const moved = revision.replace(/(startxref\n)(\d+)/, (_, word: string, start: string) => `${word}${Number(start) + count}`);
      checkObjectHeaders(opened(Buffer.concat([head, signed, Buffer.from(space + moved, 'latin1')])), head.length + signed.length);
    };
    expect(finding(200, Buffer.of())).not.toThrow();
    expect(finding(200, prefix)).not.toThrow();
    expect(finding(300, Buffer.of())).toThrow('an object 15 that');
  });

  it('is one behind the object of its number, however near', () => {
    for (const more of ['', ' '.repeat(300)]) {
      const objects = { 15: `<<${more}>>`, 20: { entries: '', bytes: Buffer.from('15 0 obj') } };
      expect(() => checkObjectHeaders(opened(revised(signed, objects)), signed.length)).toThrow('an object 15 that');
    }
  });

  it('is counted from the header of the file', () => {
    const [, start = ''] = /startxref\n(\d+)/.exec(signed.toString('latin1')) ?? [];
    const own = `90 0 obj\n<</Type /XRef /W [1 1 1] /Index [] /Size 100 /Root 1 0 R /Prev ${start} /Length 0>>\nstream\n\nendstream\nendobj\n`;
    const copy = { entries: '', bytes: Buffer.from('15 0 obj') };
    for (const pdf of [
      Buffer.concat([signed, Buffer.from(`${own}startxref\n${signed.length}\n%%EOF\n`)]),
      revised(signed, { 14: copy, 15: '<<>>' }),
      revised(signed, { 15: '<<>>' }, { shape: 'STREAM' }),
      revised(signed, { 15: '<<>>' }, { shape: 'OBJECT_STREAMS' }),
    ])
      for (const file of [pdf, Buffer.concat([prefix, pdf])]) expect(() => checkObjectHeaders(opened(file), 0)).not.toThrow();
    const astray = Buffer.concat([prefix, revised(signed, { 15: '<<>>', 16: copy })]);
    expect(() => checkObjectHeaders(opened(astray), 0)).toThrow('an object 15 that');
  });

  it('is one whose object stream is not there', () => {
    const objects = { 15: '<<>>', 20: { entries: '', bytes: Buffer.from('15 0 obj') } };
    const pdf = revised(signed, objects, { shape: 'OBJECT_STREAMS' });
    const row = pdf.indexOf(Buffer.of(2, 0, 0, 0, 21, 0, 0), signed.length);
    expect(row).toBeGreaterThan(0);
    pdf[row + 4] = 99;
    expect(() => checkObjectHeaders(opened(pdf), signed.length)).toThrow('an object 15 that');
  });
});
