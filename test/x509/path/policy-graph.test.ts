import { describe, expect, it } from 'vitest';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import { PolicyGraph } from '../../../src/x509/path/policy-graph.ts';

const { anyPolicy } = oids;
const allowed = { anyPolicyAllowed: true };
const inhibited = { anyPolicyAllowed: false };
const all = new Set([anyPolicy]);

/** The policies of one certificate after another; what is valid for a user who takes any. */
function valid(levels: readonly (readonly string[] | undefined)[], option = allowed): string[] {
  const graph = new PolicyGraph();
  for (const policies of levels) graph.descend(policies === undefined ? undefined : new Set(policies), option);
  return [...graph.accepted(all)].toSorted();
}

describe('the policies of a path', () => {
  it('are any before the first certificate', () => {
    const graph = new PolicyGraph();
    expect(graph.isEmpty).toBe(false);
    expect([...graph.accepted(all)]).toEqual([anyPolicy]);
  });

  it('are those that every certificate has', () => {
    expect(
      valid([
        ['1.1', '1.2'],
        ['1.2', '1.3'],
      ]),
    ).toEqual(['1.2']);
    expect(valid([['1.1'], ['1.1']])).toEqual(['1.1']);
    expect(valid([['1.1'], ['1.2']])).toEqual([]);
  });

  it('are none below a certificate without any, whatever comes after it', () => {
    const graph = new PolicyGraph();
    graph.descend(new Set(['1.1']), allowed);
    graph.descend(undefined, allowed);
    expect(graph.isEmpty).toBe(true);
    graph.descend(new Set(['1.1', anyPolicy]), allowed);
    expect(graph.isEmpty).toBe(true);
    expect([...graph.accepted(all)]).toEqual([]);
    expect(valid([undefined, [anyPolicy]])).toEqual([]);
  });

  it('are known to be none as soon as two certificates have none in common', () => {
    const graph = new PolicyGraph();
    graph.descend(new Set(['1.1']), allowed);
    expect(graph.isEmpty).toBe(false);
    graph.descend(new Set(['1.2']), allowed);
    expect(graph.isEmpty).toBe(true);
  });

  it('go through any-policy where it is allowed, and end at it where it is not', () => {
    expect(valid([[anyPolicy], ['1.1']])).toEqual(['1.1']);
    expect(valid([['1.1', '1.2'], [anyPolicy]])).toEqual(['1.1', '1.2']);
    expect(valid([['1.1'], [anyPolicy, '1.1'], ['1.1']])).toEqual(['1.1']);
    expect(valid([[anyPolicy], [anyPolicy]])).toEqual([anyPolicy]);
    expect(valid([['1.1'], [anyPolicy]], inhibited)).toEqual([]);
    expect(valid([[anyPolicy]], inhibited)).toEqual([]);
    expect(valid([['1.1']], inhibited)).toEqual(['1.1']);
  });

  it('are those of the user, of what is valid', () => {
    const graph = new PolicyGraph();
    graph.descend(new Set(['1.1', '1.2']), allowed);
    expect([...graph.accepted(new Set(['1.2', '1.3']))]).toEqual(['1.2']);
    expect([...graph.accepted(new Set(['1.3']))]).toEqual([]);
    expect([...graph.accepted(new Set([anyPolicy, '1.3']))].toSorted()).toEqual(['1.1', '1.2']);
    const any = new PolicyGraph();
    any.descend(new Set([anyPolicy]), allowed);
    expect([...any.accepted(new Set(['1.3']))]).toEqual(['1.3']);
  });

  it('that are below any-policy in the middle are called as that certificate calls them', () => {
    const graph = new PolicyGraph();
    graph.descend(new Set([anyPolicy, '1.1']), allowed);
    graph.descend(new Set(['1.1', '1.2']), allowed);
    expect([...graph.accepted(all)].toSorted()).toEqual(['1.1', '1.2']);
  });
});

describe('a policy that is mapped', () => {
  const mapped = (
    mappings: readonly (readonly [string, string])[],
    below: readonly string[],
    mayMap = true,
    above = ['1.1', '1.2'],
  ): string[] => {
    const graph = new PolicyGraph();
    graph.descend(new Set(above), allowed);
    graph.map(
      mappings.map(([issuerDomain, subjectDomain]) => ({ issuerDomain, subjectDomain })),
      { allowed: mayMap },
    );
    graph.descend(new Set(below), allowed);
    return [...graph.accepted(all)].toSorted();
  };

  it('is another one further down, and the anchor calls it as before', () => {
    expect(mapped([['1.1', '2.1']], ['2.1'])).toEqual(['1.1']);
    expect(mapped([['1.1', '2.1']], ['1.1'])).toEqual([]);
    expect(mapped([['1.1', '2.1']], ['2.1', '1.2'])).toEqual(['1.1', '1.2']);
  });

  it('may be several, and several may be one', () => {
    expect(
      mapped(
        [
          ['1.1', '2.1'],
          ['1.1', '2.2'],
        ],
        ['2.2'],
      ),
    ).toEqual(['1.1']);
    expect(
      mapped(
        [
          ['1.1', '2.1'],
          ['1.2', '2.1'],
        ],
        ['2.1'],
      ),
    ).toEqual(['1.1', '1.2']);
  });

  it('is kept under any-policy below', () => {
    expect(mapped([['1.1', '2.1']], [anyPolicy])).toEqual(['1.1', '1.2']);
  });

  it('is lost where mapping is inhibited, alone', () => {
    expect(mapped([['1.1', '2.1']], ['2.1', '1.1'], false)).toEqual([]);
    expect(mapped([['1.1', '2.1']], ['1.2'], false)).toEqual(['1.2']);
    const graph = new PolicyGraph();
    graph.descend(new Set(['1.1', '1.2']), allowed);
    graph.descend(new Set(['1.1', '1.2']), allowed);
    graph.map([{ issuerDomain: '1.1', subjectDomain: '2.1' }], { allowed: false });
    expect([...graph.accepted(all)]).toEqual(['1.2']);
  });

  it('out of any-policy is valid as itself; one that is not there is not', () => {
    expect(mapped([['1.1', '2.1']], ['2.1'], true, [anyPolicy])).toEqual(['1.1']);
    expect(mapped([['1.3', '2.1']], ['2.1'])).toEqual([]);
  });

  it('leaves nothing valid where all that is left leads nowhere', () => {
    const graph = new PolicyGraph();
    graph.descend(new Set(['1.1']), allowed);
    graph.map([{ issuerDomain: '1.1', subjectDomain: '2.1' }], { allowed: false });
    expect(graph.isEmpty).toBe(true);
  });
});
