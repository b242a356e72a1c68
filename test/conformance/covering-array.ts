import { randomNumbers } from '../support/random-numbers.ts';

/** The factors of a matrix: the options of each, by name. */
type Factors = Readonly<Record<string, readonly string[]>>;
/** An option of every factor. */
export type Row<F extends Factors> = { readonly [Name in keyof F]: F[Name][number] };

interface CoveringOptions<F extends Factors> {
  /** Tells whether two options can stand together: it is asked for every two, the row then holding no others. */
  readonly fits: (pair: Partial<Row<F>>) => boolean;
  /** Sets of factors whose options are to stand together in every way that is possible. */
  readonly sets: readonly (readonly (keyof F & string)[])[];
  readonly seed?: number;
  /** Rows that are tried for each one that is taken. More make the array smaller, and take longer. */
  readonly tries?: number;
}

/** Every set of so many factors. */
export function everySet<F extends Factors>(factors: F, size: number): (keyof F & string)[][] {
  const names = Object.keys(factors);
  let sets: string[][] = [[]];
  for (let length = 0; length < size; length++)
    sets = sets.flatMap((set) => names.slice(names.indexOf(set.at(-1) ?? '') + 1).map((name) => [...set, name]));
  return sets;
}

/**
 * A covering array, the same for the same seed: rows in which the options of the named sets of factors stand together in every way that is possible. A row
 * begins with a tuple that no row has yet, and gets the options that add most such tuples; the best of a few rows is taken.
 */
export function coveringArray<F extends Factors>(factors: F, options: CoveringOptions<F>): Row<F>[] {
  const names = Object.keys(factors);
  const space = new Space(factors, options.fits);
  const missing = new MissingTuples(
    space,
    options.sets.map((set) => set.map((name) => names.indexOf(name))),
  );
  const random = randomNumbers(options.seed ?? 1);
  const rows: Row<F>[] = [];
  for (let tuple = missing.first(); tuple !== undefined; tuple = missing.first()) {
    let best: readonly number[] = [];
    let bestGain = -1;
    for (let attempt = 0; attempt < (options.tries ?? 10); attempt++) {
      const row = greedyRow(space, missing, tuple, random);
      const gain = missing.gain(row);
      if (gain <= bestGain) continue;
      best = row;
      bestGain = gain;
    }
    missing.remove(best);
    rows.push(Object.fromEntries(names.map((name, factor) => [name, factors[name]?.[best[factor] ?? 0]])) as Row<F>);
  }
  return rows;
}

/** For each factor, the options that are left for it: one bit each. */
type Domains = readonly number[];

/** Which options can stand together. */
class Space {
  /** Number of options of each factor. */
  readonly sizes: readonly number[];
  /** By factor and option: what that option leaves of every factor. */
  readonly #leaves: readonly (readonly Domains[])[];

  constructor(factors: Factors, fits: (pair: never) => boolean) {
    const entries = Object.entries(factors);
    this.sizes = entries.map(([, options]) => options.length);
    if (this.sizes.some((size) => size === 0 || size > 30)) throw new RangeError('a factor has 1 to 30 options');
    this.#leaves = entries.map(([name, options]) =>
      options.map((option) =>
        entries.map(([other, others]) =>
          others.reduce((mask, value, index) => {
            const isPossible = other === name ? value === option : fits({ [name]: option, [other]: value } as never);
            return isPossible ? mask | (1 << index) : mask;
          }, 0),
        ),
      ),
    );
  }

  /** What is left before anything is chosen. */
  all(): Domains {
    return this.sizes.map((size) => 2 ** size - 1);
  }

  /** What the choice leaves; undefined where some factor has no option left. */
  choose(domains: Domains, factor: number, option: number): Domains | undefined {
    const leaves = this.#leaves[factor]?.[option] ?? [];
    const left = domains.map((mask, other) => mask & (leaves[other] ?? 0));
    return left.includes(0) ? undefined : left;
  }

  /** Whether each factor can get an option. */
  isCompletable(domains: Domains): boolean {
    const factor = domains.findIndex((mask) => (mask & (mask - 1)) !== 0);
    if (factor === -1) return domains.every((mask, index) => this.choose(domains, index, optionsIn(mask)[0] ?? 0) !== undefined);
    return optionsIn(domains[factor] ?? 0).some((option) => {
      const left = this.choose(domains, factor, option);
      return left !== undefined && this.isCompletable(left);
    });
  }
}

function optionsIn(mask: number): number[] {
  const options: number[] = [];
  for (let index = 0; mask >> index > 0; index++) if ((mask >> index) & 1) options.push(index);
  return options;
}

interface Tuple {
  readonly factors: readonly number[];
  readonly options: readonly number[];
}

/** Factors, and the numbers of those tuples of their options that stand in no row yet. */
interface MissingOfSet {
  readonly factors: readonly number[];
  readonly missing: Set<number>;
}

/** The tuples that stand in no row yet. */
class MissingTuples {
  readonly #sizes: readonly number[];
  readonly #sets: readonly MissingOfSet[];
  /** The sets that a factor is in. */
  readonly #setsOf: readonly (readonly MissingOfSet[])[];

  constructor(space: Space, sets: readonly (readonly number[])[]) {
    this.#sizes = space.sizes;
    this.#sets = sets.map((factors) => {
      const count = factors.reduce((product, factor) => product * (this.#sizes[factor] ?? 0), 1);
      const missing = new Set<number>();
      for (let number = 0; number < count; number++) {
        const options = this.#optionsOf(factors, number);
        let left: Domains | undefined = space.all();
        for (const [index, factor] of factors.entries()) if (left !== undefined) left = space.choose(left, factor, options[index] ?? 0);
        if (left !== undefined && space.isCompletable(left)) missing.add(number);
      }
      return { factors, missing };
    });
    this.#setsOf = this.#sizes.map((_size, factor) => this.#sets.filter(({ factors }) => factors.includes(factor)));
  }

  /** One of the set that has most. */
  first(): Tuple | undefined {
    const set = this.#sets.reduce((most, one) => (one.missing.size > most.missing.size ? one : most));
    for (const number of set.missing) return { factors: set.factors, options: this.#optionsOf(set.factors, number) };
    return undefined;
  }

  /** How many missing tuples the row has; with a factor, those that the factor is in. Factors without an option (-1) are in no tuple. */
  gain(row: readonly number[], factor?: number): number {
    const sets = factor === undefined ? this.#sets : (this.#setsOf[factor] ?? []);
    let sum = 0;
    for (const { factors, missing } of sets) if (missing.size > 0 && missing.has(this.#numberOf(factors, row))) sum++;
    return sum;
  }

  remove(row: readonly number[]): void {
    for (const { factors, missing } of this.#sets) missing.delete(this.#numberOf(factors, row));
  }

  #numberOf(factors: readonly number[], row: readonly number[]): number {
    let number = 0;
    for (const factor of factors) {
      const option = row[factor] ?? -1;
      if (option < 0) return -1;
      number = number * (this.#sizes[factor] ?? 0) + option;
    }
    return number;
  }

  #optionsOf(factors: readonly number[], number: number): number[] {
    const options: number[] = [];
    let rest = number;
    for (const factor of factors.toReversed()) {
      const size = this.#sizes[factor] ?? 1;
      options.unshift(rest % size);
      rest = Math.floor(rest / size);
    }
    return options;
  }
}

function greedyRow(space: Space, missing: MissingTuples, tuple: Tuple, random: () => number): number[] {
  const row = space.sizes.map(() => -1);
  let domains = space.all();
  const take = (factor: number, option: number): boolean => {
    const left = space.choose(domains, factor, option);
    if (left === undefined || !space.isCompletable(left)) return false;
    row[factor] = option;
    domains = left;
    return true;
  };
  for (const [index, factor] of tuple.factors.entries()) take(factor, tuple.options[index] ?? 0);
  const others = shuffled([...row.keys()], random).filter((factor) => row[factor] === -1);
  for (const factor of others) {
    const ranked = shuffled(optionsIn(domains[factor] ?? 0), random)
      .map((option) => ({ option, gain: missing.gain(row.with(factor, option), factor) }))
      .toSorted((one, other) => other.gain - one.gain);
    if (!ranked.some(({ option }) => take(factor, option))) throw new Error('a row that could be completed cannot be');
  }
  return row;
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((value) => ({ value, rank: random() }))
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ value }) => value);
}
