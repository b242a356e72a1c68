/**
 * Work of XPath that libxml2 does not count: it counts the nodes that a step visits, and nothing of
 * the texts that functions and comparisons read, copy and search. Operands of such operations are
 * put into a call of a function of ours, which passes its argument on, after it was charged.
 */
import { offsets, type Engine, type Pointer } from './engine.ts';
import { ValueCosts, type ChargeKind } from './xpath-values.ts';

/** Structures of libxml2 (xpath.c) on a machine with 32-bit pointers. */
const compiled = { count: 0, room: 4, table: 8 } as const;
const operation = { bytes: 40, kind: 0, first: 4, second: 8, value: 12, name: 24, function: 32 } as const;
const parser = { error: 8, context: 12, value: 16, valueCount: 20, valueTable: 28 } as const;
/** Values of `xmlXPathOp`. */
const kinds = {
  ...{ equal: 3, compare: 4, plus: 5, multiply: 6, union: 7, root: 8, node: 9, collect: 10, variable: 12 },
  ...{ function: 13, filter: 16, sort: 17 },
} as const;
/** Operations whose values can be long: nodes. */
const nodeKinds: ReadonlySet<number> = new Set([kinds.union, kinds.root, kinds.node, kinds.collect, kinds.variable, kinds.filter]);
/** `XPATH_OP_LIMIT_EXCEEDED`. */
const limitExceeded = 25;

/** Functions that read the texts of arguments, and how each argument is charged; the last is repeated. */
const functions: Readonly<Record<string, readonly ChargeKind[]>> = {
  ...{ string: ['text'], 'string-length': ['text'], 'normalize-space': ['text'], concat: ['text'], substring: ['text'] },
  ...{
    'starts-with': ['text'],
    contains: ['text', 'sought'],
    'substring-before': ['text', 'sought'],
    'substring-after': ['text', 'sought'],
  },
  ...{ translate: ['text', 'translated', 'text'], number: ['text'], floor: ['text'], ceiling: ['text'], round: ['text'], lang: ['text'] },
  ...{ sum: ['texts'], id: ['texts'] },
};
/** Those that take the context node if they have no argument. */
const ofContextNode: ReadonlySet<string> = new Set(['string', 'string-length', 'normalize-space', 'number']);
/** Functions with long results: texts, or nodes. */
const long: ReadonlySet<string> = new Set([
  'string',
  'concat',
  'substring',
  'substring-before',
  'substring-after',
  'normalize-space',
  'translate',
  'id',
]);

/** Adds charges to a compiled expression. */
export function addCharges(engine: Engine, expression: Pointer): void {
  const operations = new Operations(engine, expression);
  const { count } = operations;
  for (let at = 0; at < count; at += 1) {
    switch (operations.kind(at)) {
      case kinds.equal:
      case kinds.compare:
        operations.charge(at, 'first', 'texts');
        operations.charge(at, 'second', 'compared');
        break;
      case kinds.plus:
      case kinds.multiply:
        operations.charge(at, 'first', 'text');
        operations.charge(at, 'second', 'text');
        break;
      case kinds.union:
        operations.charge(at, 'second', 'united');
        break;
      case kinds.function:
        operations.chargeArguments(at);
        break;
      default:
    }
  }
  operations.store();
}

/** The operations of a compiled expression, by index; -1 is none. */
class Operations {
  readonly #engine: Engine;
  readonly #expression: Pointer;
  readonly #table: Pointer;
  readonly count: number;
  readonly #added: Readonly<Record<'kind' | 'first' | 'value' | 'function', number>>[] = [];

  constructor(engine: Engine, expression: Pointer) {
    this.#engine = engine;
    this.#expression = expression;
    this.#table = engine.get(expression, compiled.table);
    this.count = engine.get(expression, compiled.count);
  }

  kind(at: number): number {
    return this.#get(at, 'kind');
  }

  /** Charges an operand, if its value can be long. */
  charge(at: number, operand: 'first' | 'second', how: ChargeKind): void {
    const inner = this.#get(at, operand);
    // What is sought may be short, and still be compared with every character of a long text.
    if (inner < 0 || !(how === 'sought' || how === 'translated' || this.#isLong(inner))) return;
    this.#set(at, operand, this.#add({ kind: kinds.function, first: inner, value: 1, function: chargeFunction(this.#engine, how) }));
  }

  chargeArguments(at: number): void {
    const name = this.#name(at);
    const how = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (how === undefined) return;
    if (this.#get(at, 'value') === 0) {
      if (!ofContextNode.has(name)) return;
      const node = this.#add({ kind: kinds.node, first: -1, value: 0, function: 0 });
      this.#set(at, 'first', this.#add({ kind: kinds.function, first: node, value: 1, function: chargeFunction(this.#engine, 'text') }));
      this.#set(at, 'value', 1);
      return;
    }
    const given: number[] = [];
    for (let one = this.#get(at, 'first'); one >= 0; one = this.#get(one, 'first')) given.unshift(one);
    for (const [index, argument] of given.entries()) this.charge(argument, 'second', how[index] ?? how.at(-1) ?? 'text');
  }

  /** Puts a larger table in place of the one of libxml2, which releases it with the expression. */
  store(): void {
    if (this.#added.length === 0) return;
    const { library } = this.#engine;
    const all = this.count + this.#added.length;
    const table = library._malloc(all * operation.bytes);
    if (table === 0) throw new RangeError('the XML engine is out of memory');
    library.HEAPU8.copyWithin(table, this.#table, this.#table + this.count * operation.bytes);
    library.HEAPU8.fill(0, table + this.count * operation.bytes, table + all * operation.bytes);
    for (const [index, added] of this.#added.entries()) {
      const at = table + (this.count + index) * operation.bytes;
      for (const member of ['kind', 'first', 'value', 'function'] as const) this.#engine.set(at, operation[member], added[member]);
      this.#engine.set(at, operation.second, -1);
    }
    library._free(this.#table);
    this.#engine.set(this.#expression, compiled.table, table);
    this.#engine.set(this.#expression, compiled.count, all);
    this.#engine.set(this.#expression, compiled.room, all);
  }

  #isLong(at: number): boolean {
    const kind = this.kind(at);
    if (kind === kinds.sort) return this.#isLong(this.#get(at, 'first'));
    if (kind === kinds.function) return long.has(this.#name(at));
    return nodeKinds.has(kind);
  }

  #add(added: Readonly<Record<'kind' | 'first' | 'value' | 'function', number>>): number {
    this.#added.push(added);
    return this.count + this.#added.length - 1;
  }

  #name(at: number): string {
    return this.#engine.text(this.#get(at, 'name')) ?? '';
  }

  #get(at: number, member: keyof typeof operation): number {
    return this.#engine.get(this.#table + at * operation.bytes, operation[member]);
  }

  #set(at: number, member: keyof typeof operation, value: number): void {
    this.#engine.set(this.#table + at * operation.bytes, operation[member], value);
  }
}

function chargeFunction(engine: Engine, how: ChargeKind): Pointer {
  return engine.xpathFunction(`charge ${how}`, (evaluation) => {
    charge(engine, how, evaluation);
  });
}

/** Charges the value that was computed last. Ends the evaluation if no steps are left. */
function charge(engine: Engine, how: ChargeKind, evaluation: Pointer): void {
  const context = engine.get(evaluation, parser.context);
  const [count, max] = [engine.get(context, offsets.xpathOpCount), engine.get(context, offsets.xpathOpLimit)];
  const values = new ValueCosts(engine, max - count);
  const value = engine.get(evaluation, parser.value);
  const before = engine.get(engine.get(evaluation, parser.valueTable), 4 * (engine.get(evaluation, parser.valueCount) - 2));
  const steps = Math.ceil(values.cost(how, value, before));
  if (steps < max - count) {
    engine.set(context, offsets.xpathOpCount, count + steps);
    return;
  }
  engine.set(context, offsets.xpathOpCount, max);
  engine.set(evaluation, parser.error, limitExceeded);
}
