import { createHash } from 'node:crypto';
import { parseSync, Visitor, type VisitorObject } from 'oxc-parser';

/** One small change of a source file. */
export interface Mutant {
  /** The same as long as the changed line stands in the file as it does now, wherever that is. */
  readonly id: string;
  /** In `src/`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** Without what it is indented by. */
  readonly lineText: string;
  /** `before → after`, on one line. */
  readonly change: string;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

const operators = new Map(
  Object.entries({
    ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>' },
    ...{ '===': '!==', '!==': '===' },
    ...{ '+': '-', '-': '+', '*': '/', '/': '*' },
  }),
);
const calls = new Map(
  Object.entries({ some: 'every', every: 'some', min: 'max', max: 'min', startsWith: 'endsWith', endsWith: 'startsWith' }),
);
/** Calls that can be left out of a chain. */
const links = new Set(['filter', 'slice', 'toSorted', 'toReversed', 'trim', 'toLowerCase', 'subarray']);
/** Calls that speak to people: what they say is no rule. */
const spokenCall = /(?:^|\.)(?:#?log\.\w+|describe)$/;
const spokenText = /[a-z] |  ?[a-z]/i;

/** Every mutant of a source file, in the order of the file. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message ?? ''}`);
  const mutants = new Map<string, Mutant>();
  const known = new Set<string>();
  /** Types, and names of modules. */
  const untouched: Range[] = [];
  const text = ({ start, end }: Range): string => source.slice(start, end);
  const leave = (range: Range): void => void untouched.push(range);

  function put({ start, end }: Range, replacement: string): void {
    const lineStart = source.lastIndexOf('\n', start - 1) + 1;
    const lineEnd = source.indexOf('\n', start);
    const wholeLine = source.slice(lineStart, lineEnd === -1 ? source.length : lineEnd);
    const lineText = wholeLine.trim();
    const change = `${oneLine(source.slice(start, end))} → ${oneLine(replacement) || '(nothing)'}`;
    const column = start - lineStart - (wholeLine.length - wholeLine.trimStart().length);
    const place = [file, lineText, column, change];
    let id = '';
    // The same line may stand in a file twice, and one change be made in two ways.
    if (known.has(`${start} ${end} ${replacement}`)) return;
    known.add(`${start} ${end} ${replacement}`);
    for (let count = 0; id === '' || mutants.has(id); count += 1) id = idOf([...place, count]);
    mutants.set(id, { id, file, line: source.slice(0, start).split('\n').length, start, end, replacement, lineText, change });
  }

  /** The element with one of the commas beside it. */
  function drop(elements: readonly (Range | null)[]): void {
    for (const [index, element] of elements.entries()) {
      if (element === null) continue;
      const next = elements[index + 1];
      const before = elements[index - 1];
      if (next) put({ start: element.start, end: next.start }, '');
      else if (before) put({ start: before.end, end: element.end }, '');
      else put(element, '');
    }
  }

  const force = (test: Range, ...values: string[]): void => {
    for (const value of values) if (text(test) !== value) put(test, value);
  };

  const visitor: VisitorObject = {
    IfStatement: ({ test }) => force(test, 'true', 'false'),
    ConditionalExpression: ({ test }) => force(test, 'true', 'false'),
    WhileStatement: ({ test }) => force(test, 'false'),
    ForStatement: ({ test }) => {
      if (test !== null) force(test, 'false');
    },
    BinaryExpression({ left, operator, right }) {
      const other = operators.get(operator);
      // A sum of texts is none.
      if (other === undefined || (operator === '+' && (isText(left) || isText(right)))) return;
      const at = source.indexOf(operator, left.end);
      put({ start: at, end: at + operator.length }, other);
    },
    LogicalExpression({ left, operator, right, start, end }) {
      if (operator === '??') {
        put({ start, end }, `(${text(left)})`);
        return;
      }
      const at = source.indexOf(operator, left.end);
      put({ start: at, end: at + 2 }, operator === '&&' ? '||' : '&&');
      put({ start, end }, `(${text(left)})`);
      put({ start, end }, `(${text(right)})`);
    },
    UnaryExpression({ operator, argument, start, end }) {
      if (operator === '!' || operator === '-') put({ start, end }, text(argument));
    },
    MemberExpression({ optional, object, start, end }) {
      if (!optional) return;
      const at = source.indexOf('?.', object.end);
      const after = source[at + 2] === '[' ? '' : '.';
      put({ start, end }, text({ start, end: at }) + after + text({ start: at + 2, end }));
    },
    CallExpression({ callee, arguments: given, start, end }) {
      if (callee.type === 'MemberExpression' && callee.property.type === 'Identifier' && !callee.computed) {
        const { name } = callee.property;
        const other = calls.get(name);
        if (other !== undefined) put(callee.property, other);
        if (links.has(name)) put({ start, end }, text(callee.object));
      }
      if (spokenCall.test(text(callee))) for (const one of given) leave(one);
      for (const one of given) if (one.type === 'SpreadElement') drop([one]);
    },
    ExpressionStatement({ expression, start, end }) {
      const inner = expression.type === 'AwaitExpression' ? expression.argument : expression;
      const doesSomething = ['CallExpression', 'AssignmentExpression', 'UpdateExpression', 'YieldExpression', 'ChainExpression'];
      const isSpoken = inner.type === 'CallExpression' && (spokenCall.test(text(inner.callee)) || inner.callee.type === 'Super');
      if (doesSomething.includes(inner.type) && !isSpoken) put({ start, end }, ';');
      else if (inner.type === 'UnaryExpression' && inner.operator === 'void') put({ start, end }, ';');
    },
    ThrowStatement: (range) => put(range, ';'),
    ReturnStatement({ argument, start, end }) {
      if (argument === null) put({ start, end }, ';');
    },
    ArrayExpression: ({ elements }) => drop(elements),
    ObjectExpression({ properties }) {
      for (const one of properties) if (one.type === 'SpreadElement') put(one, '...{}');
    },
    Literal({ value, start, end }) {
      if (typeof value === 'boolean') put({ start, end }, String(!value));
      else if (typeof value === 'number') put({ start, end }, value === 1 ? '0' : String(value + 1));
      else if (typeof value === 'bigint') put({ start, end }, `${value + 1n}n`);
      else if (typeof value === 'string' && !spokenText.test(value)) put({ start, end }, value === '' ? "'mutant'" : "''");
    },
    TemplateLiteral({ quasis, start, end }) {
      if (!quasis.some(({ value }) => spokenText.test(value.raw))) put({ start, end }, '``');
    },
    ImportDeclaration: leave,
    ImportExpression: leave,
    ExportAllDeclaration: leave,
    ExportNamedDeclaration({ source: from }) {
      if (from !== null) leave(from);
    },
    Property({ key, computed }) {
      if (!computed) leave(key);
    },
    TSTypeAliasDeclaration: leave,
    TSInterfaceDeclaration: leave,
    TSTypeAnnotation: leave,
    TSTypeParameterInstantiation: leave,
    TSTypeParameterDeclaration: leave,
    TSAsExpression: ({ typeAnnotation }) => leave(typeAnnotation),
    TSSatisfiesExpression: ({ typeAnnotation }) => leave(typeAnnotation),
  };
  new Visitor(visitor).visit(program);
  return [...mutants.values()]
    .filter((mutant) => !untouched.some(({ start, end }) => start <= mutant.start && mutant.end <= end))
    .toSorted((one, other) => one.start - other.start || one.end - other.end);
}

function isText(node: { readonly type: string; readonly value?: unknown }): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 100 ? `${line.slice(0, 97)}…` : line;
}

function idOf(place: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(place)).digest('hex').slice(0, 10);
}
