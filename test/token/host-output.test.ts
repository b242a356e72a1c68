import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HostOutput, type HostLine } from '../../src/token/client/host-output.ts';

const own = '{"level":"warn","message":"the token has no é","code":"CKR_X"}\n';

/** The lines of an output that comes in pieces. */
function linesOf(...pieces: readonly (string | Buffer)[]): HostLine[] {
  const lines: HostLine[] = [];
  const output = new HostOutput((line) => lines.push(line));
  for (const piece of pieces) output.add(Buffer.from(piece));
  output.end();
  return lines;
}

describe('the output of a token host', () => {
  it('is the same lines however it is cut', () => {
    const bytes = Buffer.from(`${own}module: hello é\n\n${own}last`);
    const expected = linesOf(bytes);
    expect(expected.map(({ isOwn, level, message, fields }) => [isOwn, level, message, fields])).toEqual([
      [true, 'warn', 'the token has no é', { code: 'CKR_X' }],
      [false, 'error', 'the token host or its module printed a line', { output: 'module: hello é' }],
      [true, 'warn', 'the token has no é', { code: 'CKR_X' }],
      [false, 'error', 'the token host or its module printed a line', { output: 'last' }],
    ]);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        const ends = [...cuts.toSorted((left, right) => left - right), bytes.length];
        expect(linesOf(...ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end)))).toEqual(expected);
      }),
    );
  });

  it.each(['{"level":"fatal","message":"x"}', '{"level":"error"}', '[]', '{', 'null'])(
    'that only looks like a line of the host is not its own: %s',
    (line) => {
      expect(linesOf(line)).toEqual([expect.objectContaining({ isOwn: false, fields: { output: line } })]);
    },
  );

  it('is cut where a line never ends', () => {
    const lines = linesOf(...Array.from({ length: 100 }, () => 'x'.repeat(10_000)), `\n${own}`);
    expect(lines.map(({ isOwn }) => isOwn)).toEqual([false, true]);
    expect(String(lines[0]?.fields['output'])).toHaveLength(8193);
  });
});
