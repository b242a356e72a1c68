import { XmlLimitFault } from './xml-fault.ts';

/** Octets that are canonicalised in the time of a step; measured. */
const octetsOfStep = 4;

/**
 * Steps of work that a document may cost: those of its XPath expressions, as libxml2 counts them and
 * with what it does not count, and those of canonicalisation. A step takes some 40 nanoseconds.
 */
export class StepBudget {
  #left: number;
  readonly #max: number;

  constructor(stepsMax: number) {
    this.#max = stepsMax;
    this.#left = stepsMax;
  }

  get left(): number {
    return this.#left;
  }

  /** The steps that there were at first. */
  get max(): number {
    return this.#max;
  }

  /** Notes steps that were taken, at most those that are left. */
  spend(steps: number): void {
    this.#left = Math.max(0, this.#left - steps);
  }

  /** Notes octets that were canonicalised. */
  spendOctets(octets: number): void {
    this.spend(octets / octetsOfStep);
  }

  /** @throws {XmlLimitFault} if no steps are left */
  check(): void {
    if (this.#left === 0) throw new XmlLimitFault(`what is signed in this document takes more than ${this.#max} steps`);
  }
}
