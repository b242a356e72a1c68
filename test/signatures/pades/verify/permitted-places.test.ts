import { describe, expect, it } from 'vitest';
import { SignatureBroken } from '../../../../src/cms/verify-signer-info.ts';
import { PdfDictionary } from '../../../../src/pdf/objects.ts';
import { checkAppearances, checkPermitted } from '../../../../src/signatures/pades/verify/permitted-places.ts';
import { appearances, information, resource, securityStore, type PlaceType } from '../../../../src/signatures/pades/verify/place-types.ts';
import type { MadeStream } from '../../../pdf/made-pdf.ts';
import { comparing, form, parsed, stream, type Changes } from './two-revisions.ts';

interface Outcome {
  /** Why it is not allowed. */
  readonly fault?: string;
  /** Places from which an object may be reached that changed or is new. */
  readonly claims: readonly string[];
  /** References from what did not change. */
  readonly edges: readonly string[];
}

/** What comes of a place X of the catalog, and of what these places lead to. */
function outcomeOf(type: PlaceType, [was, is]: readonly [string, string], changes: Changes = {}, asked: readonly string[] = []): Outcome {
  const comparison = comparing(changes);
  const claims = (): readonly string[] =>
    asked.filter((one) => {
      const [holder, path = '', target] = one.split(' ');
      return comparison.allows({ holder: Number(holder), path, target: Number(target) }, new Set());
    });
  const edges = (): readonly string[] => comparison.edges.map(({ holder, path, target }) => `${holder} ${path} ${target}`);
  try {
    checkPermitted(comparison, type, { was: parsed(was), is: parsed(is), place: { holder: 1, path: 'X' }, what: 'it' });
    return { claims: claims(), edges: edges() };
  } catch (error) {
    if (!(error instanceof SignatureBroken)) throw error;
    return { fault: error.message, claims: claims(), edges: edges() };
  }
}
const faultOf = (...given: Parameters<typeof outcomeOf>): string | undefined => outcomeOf(...given).fault;
const nothing: Outcome = { claims: [], edges: [] };
const otherType = expect.stringContaining('it has something of another type (X') as string;
const wasThere = (number: number): unknown => expect.stringContaining(`object ${number}, which was there before and to which it leads (`);
const changedDictionary: Changes = { 22: ['<</A 1>>', '<</A 2>>'] };

describe('what is at a place that may change', () => {
  it('may lead to nothing', () => {
    expect(outcomeOf(securityStore, ['null', '99 0 R'])).toEqual(nothing);
  });

  it('may be of another type if it did not change, and leads where it did', () => {
    expect(outcomeOf(securityStore, ['[22 0 R]', '[22 0 R]'], changedDictionary)).toEqual({ claims: [], edges: ['1 X/* 22'] });
    expect(faultOf(securityStore, ['/A', '/B'])).toEqual(otherType);
    expect(faultOf(securityStore, ['20 0 R', '20 0 R'], { 20: ['[1]', '[2]'] })).toEqual(otherType);
    expect(outcomeOf(securityStore, ['<</Certs [20 0 R]>>', '<</Certs [20 0 R]>>'], { 20: ['<<>>'] })).toEqual(nothing);
  });

  it('is compared with what there was in an object of its own', () => {
    const changes: Changes = { 20: ['<</N 21 0 R>>'], 21: [form(), form('', 'Q q')] };
    const inObject = outcomeOf(appearances, ['20 0 R', '<</N 21 0 R>>'], changes, ['1 X/N 21']);
    expect(inObject).toEqual({ claims: ['1 X/N 21'], edges: [] });
    expect(faultOf(appearances, ['<<>>', '<</N 21 0 R>>'], changes)).toEqual(wasThere(21));
  });

  it('has no keys but its own, unless they were there', () => {
    expect(outcomeOf(securityStore, ['<</Own 22 0 R>>', '<</Own 22 0 R>>'], changedDictionary).edges).toEqual(['1 X/Own 22']);
    expect(faultOf(securityStore, ['<</Own 1>>', '<</Own 2>>'])).toContain('Own of it');
    expect(faultOf(securityStore, ['<<>>', '<</Own 2>>'])).toContain('Own of it');
  });
});

describe('an object that did not change', () => {
  it('does not allow what is behind it, unless its keys are its own', () => {
    const ofForm = ['20 Resources/XObject/A 22', '20 N 21'];
    const behindForm: Changes = { 20: [form('/Resources <</XObject <</A 22 0 R>>>>')], ...changedDictionary };
    expect(outcomeOf(appearances, ['<</N 20 0 R>>', '<</N 20 0 R>>'], behindForm, ofForm)).toEqual(nothing);
    const behind: Changes = { 20: ['<</N 21 0 R>>'], 21: [form(), form('', 'Q q')] };
    expect(outcomeOf(appearances, ['20 0 R', '20 0 R'], behind, ofForm)).toEqual(nothing);
    const store: Changes = { 20: ['<</VRI 21 0 R>>'], 21: ['<<>>', '<</Type /VRI>>'] };
    expect(outcomeOf(securityStore, ['20 0 R', '20 0 R'], store, ['20 VRI 21'])).toEqual({ claims: ['20 VRI 21'], edges: [] });
  });

  it.each<[string, boolean]>([
    ['<</Type /DSS /Certs [21 0 R 21 0 R] /CRLs 99 0 R>>', true],
    ['<</Certs [21 0 R 5]>>', false],
    ['<</Certs [5 21 0 R]>>', false],
    ['<</Certs 5>>', false],
    ['<</Other 5>>', false],
    [`<</VRI <</${'A'.repeat(40)} <</Cert [21 0 R]>>>>>>`, true],
    [`<</VRI <</${'A'.repeat(40)} <</Cert [5]>>>>>>`, false],
    [`<</VRI <</B <<>>>>>>`, false],
  ])('is named anew if it is of the type with all that it has: %s', (store, isAllowed) => {
    const changes: Changes = { 20: [store], 21: [stream('')] };
    expect(outcomeOf(securityStore, ['null', '20 0 R'], changes)).toEqual(isAllowed ? nothing : { ...nothing, fault: otherType });
  });
});

describe('an object that is new', () => {
  const certificates = (was: string, is: string): readonly [string, string] => [`<</Certs ${was}>>`, `<</Certs ${is}>>`];

  it('may be reached from its place', () => {
    const asked = ['1 X/Certs/* 30', '1 X/Certs 30', '30 A 22'];
    const changes: Changes = { 30: [undefined, stream('/A 22 0 R')], ...changedDictionary };
    expect(outcomeOf(securityStore, certificates('[]', '[30 0 R]'), changes, asked)).toEqual({
      ...{ claims: ['1 X/Certs/* 30'], edges: ['30 A 22'] },
    });
    const store: Changes = { 30: [undefined, '<</Certs []>>'] };
    for (const was of ['null', '30 0 R']) expect(outcomeOf(securityStore, [was, '30 0 R'], store, ['1 X 30']).claims).toEqual(['1 X 30']);
  });

  it('is no stream to which a reference led before it was there', () => {
    const changes: Changes = { 30: [undefined, stream('')] };
    expect(outcomeOf(securityStore, certificates('[30 0 R]', '[30 0 R]'), changes, ['1 X/Certs/* 30'])).toEqual({
      ...{ claims: [], edges: ['1 X/Certs/* 30'] },
    });
  });

  it('leads to what its references find, as a resource', () => {
    const changes: Changes = { 30: [undefined, '<</A 22 0 R>>'], ...changedDictionary };
    expect(outcomeOf(resource, ['null', '30 0 R'], changes, ['1 X 30', '30 A 22'])).toEqual({ claims: ['1 X 30'], edges: [] });
  });
});

describe('an object that changed', () => {
  const painted = form('', 'Q q');

  it('was at this place, of this type, and may change', () => {
    const changes: Changes = { 20: [form(), painted] };
    const place = ['<</N 20 0 R>>', '<</N 20 0 R>>'] as const;
    expect(outcomeOf(appearances, place, changes, ['1 X/N 20'])).toEqual({ claims: ['1 X/N 20'], edges: [] });
    expect(faultOf(appearances, ['<</R 20 0 R>>', '<</N 20 0 R>>'], changes)).toEqual(wasThere(20));
    expect(faultOf(appearances, place, { 20: [stream('/Subtype /Image'), painted] })).toEqual(wasThere(20));
    const store = ['<</Certs [20 0 R]>>', '<</Certs [20 0 R]>>'] as const;
    expect(faultOf(securityStore, store, { 20: [stream(''), stream('', 'Q')] })).toEqual(wasThere(20));
  });

  it('is a value, where values of all kinds may stand', () => {
    const place = ['<</Title 20 0 R>>', '<</Title 20 0 R>>'] as const;
    expect(faultOf(information, place, { 20: ['(a)', '(b)'] })).toBeUndefined();
    expect(faultOf(information, place, { 20: ['[1]', '[2]'] })).toEqual(wasThere(20));
    expect(faultOf(information, place, { 20: ['<<>>', '<</A 1>>'] })).toEqual(wasThere(20));
  });

  it('has resources that were there before if they changed, too', () => {
    const place = ['<</N 20 0 R>>', '<</N 20 0 R>>'] as const;
    const [named, others] = [form('/Resources <</XObject <</A 22 0 R>>>>'), form('/Resources <</XObject <</A 22 0 R>>>>', 'Q')];
    expect(faultOf(appearances, place, { 20: [named, others], ...changedDictionary })).toBeUndefined();
    expect(faultOf(appearances, place, { 20: [form(), others], ...changedDictionary })).toEqual(wasThere(22));
    expect(faultOf(appearances, place, { 20: [form(), others], 22: ['<<>>'] })).toBeUndefined();
  });

  it.each<[string, string | MadeStream, string | MadeStream, string | MadeStream]>([
    ['a list', '[22 0 R]', '[22 0 R 1]', '[1 22 0 R]'],
    ['a dictionary', '<</A 22 0 R>>', '<</A 22 0 R /B 1>>', '<</B 22 0 R>>'],
    ['a stream', stream('/A 22 0 R'), stream('/A 22 0 R', 'Q'), stream('/B 22 0 R')],
    ['a list with a list', '[[22 0 R]]', '[[22 0 R] 1]', '[[1 22 0 R]]'],
  ])('leads to others as it did, as a resource that is %s', (_what, was, is, moved) => {
    const place = ['20 0 R', '20 0 R'] as const;
    const before = { ...changedDictionary, 20: [was, is] } satisfies Changes;
    expect(faultOf(resource, place, before)).toBeUndefined();
    expect(faultOf(resource, place, { ...before, 20: [was, moved] })).toEqual(wasThere(22));
    expect(faultOf(resource, place, { ...before, 20: ['1.5', was] })).toEqual(wasThere(22));
  });

  it('leads through 32 levels of resources that changed at most, the values in them counted', () => {
    const chain = (count: number): string | undefined => {
      const one = (index: number, text: string): string => `<</T (${text}) ${index + 1 < count ? `/A ${101 + index} 0 R` : ''}>>`;
      const changes = Array.from({ length: count }, (_, index) => [100 + index, [one(index, 'a'), one(index, 'b')]] as const);
      return faultOf(resource, ['100 0 R', '100 0 R'], Object.fromEntries(changes));
    };
    expect(chain(31)).toBeUndefined();
    expect(chain(32)).toContain('it has resources that changed in more than 32 levels');
  });
});

describe('the appearances of an annotation', () => {
  it('are at its place', () => {
    const changes: Changes = { 20: [form(), form('', 'Q q')] };
    const annotation = PdfDictionary.of({ AP: parsed('<</N 20 0 R>>') });
    const comparison = comparing(changes);
    checkAppearances(comparison, 10, annotation, annotation);
    expect(comparison.allows({ holder: 10, path: 'AP/N', target: 20 }, new Set())).toBe(true);
    expect(() => {
      checkAppearances(comparing(changes), 10, undefined, annotation);
    }).toThrow('the appearance of an annotation leads (AP/N)');
  });

  it('have a place that is shown in 100 characters', () => {
    const states = ['a', 'b'].map((end) => PdfDictionary.of({ AP: parsed(`<</N <</${'s'.repeat(120)} /${end}>>>>`) }));
    const [was, is = new PdfDictionary()] = states;
    expect(() => {
      checkAppearances(comparing({}), 10, was, is);
    }).toThrow(`of another type (AP/N/${'s'.repeat(95)})`);
  });
});
