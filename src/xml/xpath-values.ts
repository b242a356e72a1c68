import { nodeTypes, offsets, type Engine, type Pointer } from './engine.ts';

/** Of `xmlXPathObject`, on a machine with 32-bit pointers. */
const object = { type: 0, nodes: 4, text: 24 } as const;
/** Values of `xmlXPathObjectType`. */
const types = { nodes: 1, text: 4 } as const;

/** Octets of a text that are read and copied in the time of a step, and those of other work; measured. */
const copiedOfStep = 8;
const soughtOfStep = 32;
const comparedOfStep = 32;
/** Pairs of an octet to be replaced and one that replaces; and the steps that each octet takes anyway. */
const translatedOfStep = 4;
const stepsOfTranslated = 5;
/** Pairs of nodes. */
const comparedPairsOfStep = 3;
const unitedPairsOfStep = 16;
/** Steps to visit a node within another. */
const stepsOfVisit = 2;

/**
 * What the value of an operand costs: `text`: reading one text, `texts`: those of all nodes. The
 * others count for the operand before it too: searching one in the other, replacing characters,
 * comparing, uniting.
 */
export type ChargeKind = 'text' | 'texts' | 'sought' | 'translated' | 'compared' | 'united';

interface Size {
  readonly nodes: number;
  readonly octets: number;
}

/** What values cost in steps, as far as there are steps: values of an evaluation of XPath. */
export class ValueCosts {
  readonly #engine: Engine;
  /** Steps beyond which nothing more is measured. */
  readonly #max: number;
  #steps = 0;

  constructor(engine: Engine, max: number) {
    this.#engine = engine;
    this.#max = max;
  }

  /** Steps for a value, and for the one that was computed before it. */
  cost(how: ChargeKind, value: Pointer, before: Pointer): number {
    switch (how) {
      case 'text':
        this.#size(value, 1);
        return this.#steps;
      case 'texts':
        this.#size(value, Infinity);
        return this.#steps;
      case 'sought':
        return (this.#size(value, 1).octets * this.#size(before, 1).octets) / soughtOfStep + this.#steps;
      case 'translated': {
        const [replaced, { octets }] = [this.#size(value, 1).octets, this.#size(before, 1)];
        return octets * (stepsOfTranslated + replaced / translatedOfStep) + this.#steps;
      }
      case 'compared': {
        const [one, other] = [this.#size(value, Infinity), this.#size(before, Infinity)];
        const octets = one.nodes * other.octets + other.nodes * one.octets;
        return (one.nodes * other.nodes) / comparedPairsOfStep + octets / comparedOfStep + this.#steps;
      }
      case 'united':
        return (this.#countOf(value) * this.#countOf(before)) / unitedPairsOfStep;
    }
  }

  /** The size of the texts of a value, of at most `nodesMax` of its nodes. */
  #size(value: Pointer, nodesMax: number): Size {
    if (value === 0) return { nodes: 1, octets: 0 };
    const type = this.#engine.get(value, object.type);
    if (type === types.text) return { nodes: 1, octets: this.#read(this.#engine.get(value, object.text)) };
    if (type !== types.nodes) return { nodes: 1, octets: 0 };
    const nodes = Math.min(nodesMax, this.#countOf(value));
    const set = this.#engine.get(value, object.nodes);
    let octets = 0;
    for (let index = 0; index < nodes && this.#steps < this.#max; index += 1)
      octets += this.#textOf(this.#engine.get(this.#engine.get(set, offsets.setTable), 4 * index));
    return { nodes, octets };
  }

  #countOf(value: Pointer): number {
    const set = value === 0 || this.#engine.get(value, object.type) !== types.nodes ? 0 : this.#engine.get(value, object.nodes);
    return set === 0 ? 0 : this.#engine.get(set, offsets.setCount);
  }

  /** Octets of the string-value of a node (XPath §5). */
  #textOf(top: Pointer): number {
    const get = (address: Pointer, offset: number): number => this.#engine.get(address, offset);
    if (get(top, offsets.type) === nodeTypes.namespace) return this.#read(get(top, offsets.nsHref));
    if (!isParent(get(top, offsets.type))) return this.#read(get(top, offsets.content));
    let octets = 0;
    let node = get(top, offsets.children);
    while (node !== 0 && this.#steps < this.#max) {
      this.#steps += stepsOfVisit;
      const type = get(node, offsets.type);
      if (type === nodeTypes.text || type === nodeTypes.cdata) octets += this.#read(get(node, offsets.content));
      let next = type === nodeTypes.element ? get(node, offsets.children) : 0;
      while (next === 0) {
        next = get(node, offsets.next);
        if (next === 0) node = get(node, offsets.parent);
        if (node === top) break;
      }
      node = next;
    }
    return octets;
  }

  #read(text: Pointer): number {
    const octets = text === 0 ? 0 : this.#engine.library.HEAPU8.indexOf(0, text) - text;
    this.#steps += octets / copiedOfStep;
    return octets;
  }
}

function isParent(type: number): boolean {
  return type === nodeTypes.element || type === nodeTypes.attribute || type === nodeTypes.document;
}
