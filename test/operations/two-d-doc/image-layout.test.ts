import { PNG } from 'pngjs';
import { describe, expect, it } from 'vitest';
import { tiffRows } from '../../support/symbol-readers.ts';
import { foreign, foreignCode, imageOf, pictureIn, readIn } from './calls.ts';

/** Pixels of a part of a PNG, a character each. */
function pixels({ width, data }: PNG, from: { x: number; y: number }, size: { x: number; y: number }): string[] {
  return Array.from({ length: size.y }, (_, row) =>
    Array.from({ length: size.x }, (__, column) => ((data[4 * ((from.y + row) * width + from.x + column)] ?? 0) < 128 ? '#' : ' ')).join(
      '',
    ),
  );
}

describe('the picture', () => {
  const picture = async (more: object, source: object = foreign): Promise<Buffer> => pictureIn(await imageOf('other', source, more));
  const text = (position: string, value?: string): object => ({ textOptions: { position, ...(value === undefined ? {} : { value }) } });

  it('is by default a PNG with the text 2D-DOC below', async () => {
    const usual = await picture({});
    const asDefault = { textOptions: { value: '2D-DOC', position: 'BOTTOM' }, imageFormat: 'PNG' };
    for (const more of [asDefault, { textOptions: {} }, { textOptions: { value: '2D-DOC' } }, text('BOTTOM'), { imageFormat: 'PNG' }])
      expect((await picture(more)).equals(usual)).toBe(true);
    expect((await picture(text('BOTTOM', '2D-Doc'))).equals(usual)).toBe(false);
  });

  it('has the text at the side asked for, beside the same square, and is read', async () => {
    const pictures = await Promise.all(
      (['TOP', 'RIGHT', 'BOTTOM', 'LEFT'] as const).map(async (position) => ({ position, content: await picture(text(position)) })),
    );
    const squares = pictures.map(({ position, content }) => {
      const png = PNG.sync.read(content);
      const side = Math.min(png.width, png.height);
      const strip = Math.max(png.width, png.height) - side;
      const isBeside = position === 'LEFT' || position === 'RIGHT';
      expect([position, png.width > png.height, strip > 0]).toEqual([position, isBeside, true]);
      const [x, y] = [position === 'LEFT' ? strip : 0, position === 'TOP' ? strip : 0];
      const stripFrom = { x: position === 'RIGHT' ? side : 0, y: position === 'BOTTOM' ? side : 0 };
      const letters = pixels(png, stripFrom, isBeside ? { x: strip, y: side } : { x: side, y: strip }).join('');
      expect(letters).toContain('#');
      return pixels(png, { x, y }, { x: side, y: side });
    });
    for (const square of squares) expect(square).toEqual(squares[0]);
    for (const { content } of pictures) expect((await readIn(content)).toString('latin1')).toBe(foreignCode);
  });

  it('is a TIFF with the same pixels as the PNG', async () => {
    for (const position of ['TOP', 'RIGHT', 'BOTTOM', 'LEFT']) {
      const answer = await imageOf('other', foreign, { ...text(position), imageFormat: 'TIFF' });
      const { width, height, rows } = tiffRows(pictureIn(answer));
      expect([answer.body['width'], answer.body['height']]).toEqual([width, height]);
      const png = PNG.sync.read(await picture({ ...text(position), imageFormat: 'PNG' }));
      expect([png.width, png.height]).toEqual([width, height]);
      const stride = Math.ceil(width / 8);
      const bits = Array.from({ length: height }, (_, row) =>
        Array.from(rows.subarray(row * stride, (row + 1) * stride), (byte) => byte.toString(2).padStart(8, '0'))
          .join('')
          .slice(0, width),
      );
      expect(bits.map((row) => row.replaceAll('1', '#').replaceAll('0', ' '))).toEqual(
        pixels(png, { x: 0, y: 0 }, { x: width, y: height }),
      );
    }
  });

  it('has a text of 64 characters and of several scripts, and is read', async () => {
    for (const value of ['W'.repeat(64), 'Décision n° 12 – Œuvre', '2D-DOC'])
      for (const position of ['BOTTOM', 'LEFT'])
        expect((await readIn(await picture(text(position, value)))).toString('latin1')).toBe(foreignCode);
  });
});
