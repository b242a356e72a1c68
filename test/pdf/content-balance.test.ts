import { describe, expect, it } from 'vitest';
import { imbalanceOf } from '../../src/pdf/content-balance.ts';
import { PdfReference } from '../../src/pdf/objects.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { madePdf, usualObjects, type MadeStream } from './made-pdf.ts';
import { opened } from './opened.ts';

const stream = (text: string): MadeStream => ({ entries: '', bytes: Buffer.from(text, 'latin1') });

/** The imbalance of a page with these streams of content: `[restored, saved]`. */
function balance(...contents: readonly string[]): readonly [number, number] {
  const streams = Object.fromEntries(contents.map((text, index) => [20 + index, stream(text)]));
  const file = opened(madePdf({ ...usualObjects(), ...streams }));
  const references = contents.map((_text, index) => new PdfReference(20 + index, 0));
  const { restored, saved } = imbalanceOf(file, references.length === 1 ? (references[0] ?? null) : references);
  return [restored, saved];
}

describe('the operators q and Q of a content', () => {
  it.each<[string, readonly [number, number]]>([
    ['', [0, 0]],
    ['q Q', [0, 0]],
    ['q q Q', [0, 1]],
    ['q q', [0, 2]],
    ['Q', [1, 0]],
    ['Q Q q', [2, 1]],
    // What was restored too early is not made good by what is saved later.
    ['Q q', [1, 1]],
    ['q\nQ\rq\tq', [0, 2]],
    ['q[1]0 d Q', [0, 0]],
    ['[q]q', [0, 2]],
    ['qq QQ q1 Qx BTq', [0, 0]],
    ['/q gs /Q gs q', [0, 1]],
    ['/Name/q gs Q', [1, 0]],
    ['(q) Tj', [0, 0]],
    ['(a (q) q) Tj q', [0, 1]],
    ['(a \\( q) Tj q', [0, 1]],
    ['(a \\\\) Tj q', [0, 1]],
    ['(a \\) q) Tj Q', [1, 0]],
    ['(q', [0, 0]],
    ['% q\nq', [0, 1]],
    ['% q\rQ', [1, 0]],
    ['% q', [0, 0]],
    ['<5120 51> Tj q', [0, 1]],
    ['< q > Tj q', [0, 1]],
    ['<', [0, 0]],
    ['/P <</MCID 0 /A /q>> BDC q', [0, 1]],
    ['/P <</ActualText (a > q b)>> BDC', [0, 0]],
    ['/P <</A <71> /B (>Q) /C <</D (>>q)>>>> BDC q', [0, 1]],
    ['<<>> <q>q', [0, 1]],
    ['BI /W 1 ID q q Q\x00Q EI q', [0, 1]],
    ['BI ID (q EI Q', [1, 0]],
    ['BI ID aEI q EIx q EI q', [0, 1]],
    ['BI ID q', [0, 0]],
    ['IDx q', [0, 1]],
  ])('%j are out of balance by %j', (text, expected) => {
    expect(balance(text)).toEqual(expected);
  });

  it('may be in several streams, between which is white space', () => {
    expect(balance('q q', 'Q', 'Q Q')).toEqual([1, 0]);
    expect(balance('q', 'q')).toEqual([0, 2]);
    expect(balance('(q', ') Tj q')).toEqual([0, 1]);
  });

  it('are none where there is no stream', () => {
    const file = opened(madePdf(usualObjects()));
    expect(imbalanceOf(file, null)).toEqual({ restored: 0, saved: 0 });
    expect(imbalanceOf(file, [new PdfReference(99, 0), 5])).toEqual({ restored: 0, saved: 0 });
  });

  it('are not counted in a stream that cannot be read', () => {
    const file = opened(madePdf({ ...usualObjects(), 20: { entries: '/Filter /Unknown', bytes: Buffer.from('q') } }));
    expect(() => imbalanceOf(file, new PdfReference(20, 0))).toThrow(PdfFault);
  });
});
