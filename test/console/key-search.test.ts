import { describe, expect, it } from 'vitest';
import { searchKeys, type KeyQuery } from '../../src/console/key-search.ts';
import type { KeyWithCertificate } from '../../src/state/repositories/keys.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { keyRows } from '../state/rows.ts';
import { softwareSigner } from '../signatures/software-signer.ts';

const [ada, bob] = ['Ada Lovelace', 'Bob abcdef'].map((name) => softwareSigner(name).certificate.der) as [Uint8Array, Uint8Array];

const row = (reference: string, der: Uint8Array, more: Partial<KeyWithCertificate> = {}): KeyWithCertificate => ({
  ...keyRows().key,
  ...{ reference, der, not_after: Date.now() + 1e9, certificate_tenant: 'demo', authority: 'issuing', issuing_chain: null, ...more },
});

/** A store that has these keys, as far as a search asks it. */
function storeOf(rows: readonly KeyWithCertificate[]): { readonly store: StateStore; readonly pages: () => number } {
  let pages = 0;
  const run = async (name: string, asked: { tenant?: string; after?: string; limit: number }): Promise<readonly KeyWithCertificate[]> => {
    if (name !== 'listKeys') throw new Error(`${name} is asked`);
    pages += 1;
    const { tenant, after = '', limit } = asked;
    return Promise.resolve(rows.filter((one) => one.reference > after && (tenant === undefined || one.tenant === tenant)).slice(0, limit));
  };
  return { store: { run, now: () => Date.now() } as unknown as StateStore, pages: () => pages };
}

async function found(
  rows: readonly KeyWithCertificate[],
  query: Partial<KeyQuery>,
): Promise<{ readonly keys: string[]; readonly next: string | null; readonly looked: number }> {
  const { keys, ...rest } = await searchKeys(storeOf(rows).store, {
    text: '',
    tenant: undefined,
    state: undefined,
    after: undefined,
    ...query,
  });
  return { keys: keys.map(({ reference }) => reference), ...rest };
}

const numbered = (index: number): string => index.toString(16).padStart(40, '0');
const three = [row('a'.repeat(40), ada), row('b'.repeat(40), bob, { tenant: 'other' }), row('c'.repeat(40), ada, { state: 'ON_HOLD' })];
const [first, second, third] = three.map(({ reference }) => reference) as [string, string, string];

describe('a search for keys', () => {
  it.each([4, 5, 39, 40])('finds a reference by its first %i digits, wherever that is among the others', async (digits) => {
    const wanted = `1${'234567890a'.repeat(4)}`.slice(0, 40);
    const rows = [...Array.from({ length: 60 }, (_, index) => row(numbered(index), bob)), row(wanted, ada), row('f'.repeat(40), bob)];
    expect((await found(rows, { text: wanted.slice(0, digits) })).keys).toEqual([wanted]);
  });

  it.each<[Partial<KeyQuery>, readonly string[]]>([
    [{}, [first, second, third]],
    [{ text: 'LOVELACE' }, [first, third]],
    [{ text: ' ada l ' }, [first, third]],
    [{ text: 'nobody' }, []],
    [{ tenant: 'other' }, [second]],
    [{ state: 'ON_HOLD' }, [third]],
    [{ state: 'ACTIVE' }, [first, second]],
    [{ text: 'ada', state: 'ACTIVE' }, [first]],
    [{ text: 'bbbb' }, [second]],
    [{ text: 'BBBB' }, [second]],
    [{ text: 'bbbb', tenant: 'demo' }, []],
    [{ text: 'cccc', state: 'ACTIVE' }, []],
    [{ text: second }, [second]],
    // A name can be of hexadecimal digits, too; three of them are no beginning of a reference.
    [{ text: 'abcdef' }, [second]],
    [{ text: 'bbb' }, []],
    [{ after: first }, [second, third]],
    [{ after: first, text: 'aaaa' }, []],
  ])('with %j finds %j', async (query, expected) => {
    expect((await found(three, query)).keys).toEqual(expected);
  });

  it('says how many it looked at, and ends where there are no more', async () => {
    expect(await found(three, {})).toMatchObject({ next: null, looked: 3 });
    expect(await found(three, { text: 'bbbb' })).toMatchObject({ next: null, looked: 2 });
    expect(await found([], {})).toEqual({ keys: [], next: null, looked: 0 });
  });

  it('shows fifty keys, and goes on behind the last of them if there is another', async () => {
    const many = (count: number): KeyWithCertificate[] => Array.from({ length: count }, (_, index) => row(numbered(index + 1), ada));
    expect(await found(many(50), {})).toMatchObject({ next: null, looked: 50 });
    expect(await found(many(51), {})).toMatchObject({ next: numbered(50), looked: 50 });
    expect((await found(many(51), { after: numbered(50) })).keys).toEqual([numbered(51)]);
    const mixed = [row('0'.repeat(40), bob), ...many(60)];
    const { keys, next } = await found(mixed, { text: 'ada' });
    expect([keys.length, next]).toEqual([50, numbered(50)]);
  });

  it('looks at 2,000 keys, fifty at a time, and goes on behind them', async () => {
    const rows = Array.from({ length: 2001 }, (_, index) => row(numbered(index + 1), bob));
    const { store, pages } = storeOf(rows);
    const query: KeyQuery = { text: 'ada', tenant: undefined, state: undefined, after: undefined };
    expect(await searchKeys(store, query)).toEqual({ keys: [], next: numbered(2000), looked: 2000 });
    expect(pages()).toBe(40);
    expect(await found(rows.slice(0, 2000), { text: 'ada' })).toEqual({ keys: [], next: null, looked: 2000 });
  });
});
