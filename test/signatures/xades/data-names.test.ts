import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
import { dataNames, type NamingRules } from '../../../src/signatures/xades/data-names.ts';

const now = new Date('2026-03-04T05:06:07.890Z');
const rules: NamingRules = { template: undefined, isPacked: false, directory: undefined, seed: 'seed', now, at: '/detached' };
const named = (fileNames: readonly (string | undefined)[], more: Partial<NamingRules> = {}): readonly { name: string; uri: string }[] =>
  dataNames(
    fileNames.map((fileName, index) => ({ id: `id ${index}`, fileName })),
    { ...rules, ...more },
  );
const refused = (...parameters: Parameters<typeof named>): unknown => {
  try {
    return named(...parameters);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return [error.code, error.message];
  }
};

describe('the reference to a signed file', () => {
  it.each([
    ['note #1?.txt', 'note%20%231%3F.txt'],
    ['100%.txt', '100%25.txt'],
    ['a%20b.txt', 'a%2520b.txt'],
    ['ab:b;c=d&e+f,g@h$i.txt', 'ab%3Ab%3Bc%3Dd%26e%2Bf%2Cg%40h%24i.txt'],
    ["it's (new)!~*.txt", "it's%20(new)!~*.txt"],
    ['é€😀.txt', '%C3%A9%E2%82%AC%F0%9F%98%80.txt'],
    ['[1].txt', '%5B1%5D.txt'],
  ])('names %s and nothing else: no query, no fragment', (fileName, uri) => {
    expect(named([fileName])).toEqual([{ name: fileName, uri }]);
    const url = new URL(uri, 'file:///directory/');
    expect([decodeURIComponent(url.pathname), url.search, url.hash]).toEqual([`/directory/${fileName}`, '', '']);
  });

  it('has its directory before it, and each part of that is encoded', () => {
    expect(named(['a b.txt'], { directory: 'two #/parts?' })).toEqual([
      { name: 'two #/parts?/a b.txt', uri: 'two%20%23/parts%3F/a%20b.txt' },
    ]);
    expect(named(['a.txt'], { directory: 'd #', template: 'x/${file_name}' })).toEqual([{ name: 'd #/x/a.txt', uri: 'd%20%23/x/a.txt' }]);
  });

  it('is the ID of the document if it has no name', () => {
    expect(named([undefined, 'b'])).toEqual([
      { name: 'id 0', uri: 'id%200' },
      { name: 'b', uri: 'b' },
    ]);
  });

  it('follows a template, with the name encoded and each variable as often as it stands there', () => {
    expect(named(['n #?.txt'], { template: '${date}/${file_name}-${file_name}' })).toEqual([
      { name: '20260304T050607Z/n #?.txt-n #?.txt', uri: '20260304T050607Z/n%20%23%3F.txt-n%20%23%3F.txt' },
    ]);
    const [one, other] = named(['a', 'a'], { template: '${GUID}' });
    expect(one?.uri).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(other?.uri).not.toBe(one?.uri);
    expect(named(['a'], { template: '${other}$' })[0]?.uri).toBe('${other}$');
  });
});

describe('the name of a signed file is refused', () => {
  it.each([
    [['a.txt', 'a.txt'], {}, 'FIELDS_INCONSISTENT', '/inputDocuments/1/fileName: two documents have the same name'],
    [['a.txt', 'A.TXT'], {}, 'FIELDS_INCONSISTENT', 'upper and lower case being the same'],
    [['a', 'b'], { template: 'same' }, 'FIELDS_INCONSISTENT', '/detached/signedDataTemplate: two documents'],
    [['id 1', undefined], {}, 'FIELDS_INCONSISTENT', '/inputDocuments/1/ID: two documents'],
    [['a'], { template: 'x%FFy' }, 'FIELD_INVALID', 'percent-encoding that is not UTF-8'],
    [['a'], { template: 'x%2' }, 'FIELD_INVALID', 'percent-encoding that is not UTF-8'],
    [['a'], { template: '../${file_name}' }, 'FIELD_INVALID', '/detached/signedDataTemplate: the name of the signed file'],
    [['a'], { template: '%2e%2e/${file_name}' }, 'FIELD_INVALID', '/detached/signedDataTemplate: the name of the signed file'],
    [['a'], { template: '/${file_name}' }, 'FIELD_INVALID', '/detached/signedDataTemplate: the name of the signed file'],
    [['x'.repeat(70_000)], { template: '${GUID}' }, 'FIELD_INVALID', 'bytes in UTF-8'],
  ] as const)('%j %j', (fileNames, more, code, message) => {
    expect(refused(fileNames, more)).toEqual([code, expect.stringContaining(message)]);
  });

  it('if a container cannot have it on every system, and only there', () => {
    expect(refused(['a?.txt'], { isPacked: true })).toEqual(['FIELD_INVALID', expect.stringContaining('the name of the signed file')]);
    expect(named(['a?.txt'])).toHaveLength(1);
  });
});
