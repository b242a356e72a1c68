import { describe, expect, it } from 'vitest';
import { SignatureMessages } from '../../src/token/client/signature-messages.ts';
import type { Part } from '../../src/token/client/token-requests.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { KeyGone, KeyHeldBack, TokenUnavailable } from '../../src/token/token.ts';
import { writeList } from '../../src/token/wire/fields.ts';
import { statuses, type Answer } from '../../src/token/wire/frames.ts';

interface Asked extends Part {
  /** The items of the message. */
  readonly items: readonly number[];
}

/** Items of one byte, their numbers; a message is these bytes. */
const numbers = (count: number): Buffer[] => Array.from({ length: count }, (_, index) => Buffer.of(index));
const write = (items: readonly Uint8Array[]): Buffer => Buffer.concat(items);

/** A token that takes so long for each signature, and whose value for an item is the item. */
function token(eachMs: number) {
  const asked: Asked[] = [];
  let open = 0;
  const seen = { mostAtOnce: 0 };
  const faults = new Map<number, () => Promise<Answer>>();
  const ask = async (message: Buffer, part: Part): Promise<Answer> => {
    const items = [...message];
    asked.push({ items, ...part });
    open += 1;
    seen.mostAtOnce = Math.max(seen.mostAtOnce, open);
    // The later ones are answered first.
    for (let turns = 100 - asked.length; turns > 0; turns -= 1) await Promise.resolve();
    open -= 1;
    const fault = items.map((item) => faults.get(item)).find((one) => one !== undefined);
    return fault === undefined ? ok(items) : fault();
  };
  const ok = (items: readonly number[]): Answer => ({
    ...{ id: 1, status: statuses.ok, tokenMicroseconds: eachMs * 1000 * items.length },
    body: writeList(
      items.map((item) => Buffer.of(item)),
      [0],
    ),
  });
  return { ask, asked, seen, fault: (item: number, end: () => Promise<Answer>) => faults.set(item, end) };
}

const status = (code: number): Answer => ({ id: 1, status: code, tokenMicroseconds: 10, body: Buffer.alloc(0) });
const sizes = (asked: readonly Asked[]): number[] => asked.map(({ items }) => items.length);

describe('signatures that the token makes quickly', () => {
  it('are one message, as soon as it is known that they take little', async () => {
    const { ask, asked } = token(0.02);
    const [messages, id] = [new SignatureMessages(() => true), newKeyId('caller')];
    await messages.sign(id, numbers(1), write, ask);
    const outcome = await messages.sign(id, numbers(100), write, ask);
    expect(sizes(asked)).toEqual([1, 100]);
    expect(asked[1]).toMatchObject({ continues: false, expectedMs: 2 });
    expect(outcome).toEqual({ verified: true, by: 0, values: numbers(100) });
  });

  it('follow the first one where nothing is known about the key', async () => {
    const { ask, asked } = token(0.02);
    await new SignatureMessages(() => true).sign(newKeyId('caller'), numbers(100), write, ask);
    expect(asked.map(({ items, continues, expectedMs }) => [items.length, continues, expectedMs])).toEqual([
      [1, false, undefined],
      [99, true, 0.02 * 99],
    ]);
  });
});

describe('signatures that take long', () => {
  it('go in messages of three milliseconds, two of them at once, and their values come in the order of the digests', async () => {
    const { ask, asked, seen } = token(1);
    const outcome = await new SignatureMessages(() => true).sign(newKeyId('caller'), numbers(100), write, ask);
    expect(sizes(asked)).toEqual([1, ...Array.from({ length: 33 }, () => 3)]);
    expect([seen.mostAtOnce, asked.filter(({ continues }) => !continues).length]).toEqual([2, 1]);
    expect(outcome).toMatchObject({ verified: true, values: numbers(100) });
  });

  it('go in longer messages while nobody else asks the token', async () => {
    const { ask, asked } = token(1);
    await new SignatureMessages(() => false).sign(newKeyId('caller'), numbers(100), write, ask);
    expect(sizes(asked)).toEqual([1, ...Array.from({ length: 12 }, () => 8), 3]);
  });

  it('go one by one where one takes longer than that', async () => {
    const { ask, asked } = token(7);
    await new SignatureMessages(() => true).sign(newKeyId('caller'), numbers(5), write, ask);
    expect(sizes(asked)).toEqual([1, 1, 1, 1, 1]);
    expect(asked[4]?.expectedMs).toBe(7);
  });
});

it('signatures are not begun where one of them cannot be written', async () => {
  const { ask, asked } = token(7);
  const failing = (items: readonly Uint8Array[]): Buffer => {
    if (items.some(([number]) => number === 9)) throw new RangeError('the last');
    return write(items);
  };
  await expect(new SignatureMessages(() => true).sign(newKeyId('caller'), numbers(10), failing, ask)).rejects.toThrow(RangeError);
  expect(asked).toEqual([]);
});

describe('a message that fails', () => {
  const sign = async (first: number, end: () => Promise<Answer>): Promise<[unknown, Asked[]]> => {
    const { ask, asked, fault } = token(7);
    fault(first, end);
    const outcome: unknown = await new SignatureMessages(() => true)
      .sign(newKeyId('caller'), numbers(10), write, ask)
      .catch((error: unknown) => error);
    return [outcome, asked];
  };

  it('as the first, with a wrong secret, is the only one: the secret counts once', async () => {
    const [outcome, asked] = await sign(0, async () => Promise.resolve(status(statuses.wrongSecret)));
    expect([outcome, asked.length]).toEqual([{ verified: false }, 1]);
  });

  it('as the first, whose secret is right and does not sign, is the only one', async () => {
    const [outcome, asked] = await sign(0, async () =>
      Promise.resolve({ id: 1, status: statuses.ok, tokenMicroseconds: 10, body: writeList([], [1]) }),
    );
    expect([outcome, asked.length]).toEqual([{ verified: true, by: 1, values: [] }, 1]);
  });

  it.each([
    ['the token is away', new TokenUnavailable('away'), new TokenUnavailable('away')],
    ['the key is gone', new KeyGone('gone'), new KeyGone('gone')],
    ['the key is held back', new KeyHeldBack(new Date(5)), new KeyHeldBack(new Date(5))],
  ])('later ends the request, and no further one is sent: %s', async (_, error, expected) => {
    const [outcome, asked] = await sign(4, async () => Promise.reject(error));
    expect(outcome).toEqual(expected);
    expect(asked.length).toBeLessThanOrEqual(6);
  });

  it('later has had an effect, although it was never sent', async () => {
    const [outcome] = await sign(4, async () => Promise.reject(new TokenUnavailable('down', { nothingDone: true })));
    expect(outcome).toMatchObject({ message: 'down', nothingDone: false });
  });

  it('later with a wrong secret is a fault of the token, since signatures were made', async () => {
    const [outcome] = await sign(4, async () => Promise.resolve(status(statuses.wrongSecret)));
    expect(outcome).toBeInstanceOf(TokenUnavailable);
  });
});
