import { describe, expect, it } from 'vitest';
import {
  keepingOutcome,
  outcomeSteps,
  settlementIsNeeded,
  settlingWith,
  type SettledOutcome,
  type SettlementParty,
} from '../../src/state/settlement.ts';
import { step } from '../../src/state/step.ts';

/** Has two steps that bear its name. */
function party(name: string, { needsCommit = false, told = [] as SettledOutcome[] } = {}): SettlementParty {
  return {
    needsCommit,
    steps: async (outcome) => {
      told.push(outcome);
      return Promise.resolve([step('finishStep', `${name} 1`), step('finishStep', `${name} 2`)]);
    },
  };
}

const settled = async (outcome: SettledOutcome = { answer: {} }): Promise<unknown[]> =>
  (await outcomeSteps(outcome)).map(({ argument }) => argument);
const needed = async (): Promise<boolean> => Promise.resolve(settlementIsNeeded());

describe('a settling commit', () => {
  it('has the steps of the keeper and of every party, in the order in which they came, and all of them hear the outcome', async () => {
    const told: SettledOutcome[] = [];
    const outcome = { answer: { a: 1 }, until: 5 };
    const steps = await keepingOutcome(party('keeper', { told }), async () =>
      settlingWith(party('first', { told }), async () => settlingWith(party('second', { told }), async () => settled(outcome))),
    );
    expect(steps).toEqual(['keeper 1', 'keeper 2', 'first 1', 'first 2', 'second 1', 'second 2']);
    expect(told).toEqual([outcome, outcome, outcome]);
  });

  it('has no step of a party whose work is over, or whose work is another', async () => {
    await keepingOutcome(party('keeper'), async () => {
      const gate = Promise.withResolvers<undefined>();
      const beside = settlingWith(party('beside'), async () => {
        await gate.promise;
        return settled();
      });
      expect(await settled()).toEqual(['keeper 1', 'keeper 2']);
      gate.resolve(undefined);
      expect(await beside).toEqual(['keeper 1', 'keeper 2', 'beside 1', 'beside 2']);
      expect(await settled()).toEqual(['keeper 1', 'keeper 2']);
    });
    expect(await settled()).toEqual([]);
  });

  it('has the steps of a party where nobody keeps the outcome', async () => {
    expect(await settlingWith(party('alone'), settled)).toEqual(['alone 1', 'alone 2']);
  });

  it('begins anew with the keeper of another request', async () => {
    const inner = settlingWith(party('outer'), async () => keepingOutcome(party('keeper'), async () => settled()));
    expect(await inner).toEqual(['keeper 1', 'keeper 2']);
  });
});

describe('a request needs a settling commit', () => {
  const needs = { needsCommit: true };

  it('if any party does, whichever it is', async () => {
    expect(await keepingOutcome(party('keeper'), async () => settlingWith(party('first', needs), needed))).toBe(true);
    expect(await keepingOutcome(party('keeper', needs), async () => settlingWith(party('first'), needed))).toBe(true);
  });

  it('otherwise not', async () => {
    expect(await keepingOutcome(party('keeper'), async () => settlingWith(party('first'), needed))).toBe(false);
    expect(settlementIsNeeded()).toBe(false);
  });
});
