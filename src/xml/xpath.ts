import { offsets, type EngineError, type Pointer } from './engine.ts';
import type { XmlNode } from './engine.ts';
import type { NodeSet } from './tree-canonical.ts';
import { selectedMark, XmlDocument } from './xml-document.ts';
import { StepBudget } from './step-budget.ts';
import { XmlFault, XmlLimitFault } from './xml-fault.ts';
import { addCharges } from './xpath-charges.ts';

/** Thrown for an XPath expression that is not valid, whatever the document. */
export class XPathInvalid extends XmlFault {}

/**
 * Thrown for an XPath expression that is valid as far as it was read, but larger than is allowed.
 */
export class XPathTooLarge extends XPathInvalid {}

/** Thrown for an XPath expression that takes too many steps in a document. */
export class XPathTooSlow extends XmlLimitFault {}

/** An expression of XPath 1.0 and its namespaces, by prefix. */
export interface XPath {
  readonly expression: string;
  /** Whether it takes no more time than libxml2 counts, since it is our own. Default: false. */
  readonly isOwn?: boolean;
  readonly namespaces: Readonly<Record<string, string>>;
}

/**
 * Code of libxml2 for an expression that exceeds its limit of steps (`XPATH_OP_LIMIT_EXCEEDED`).
 */
const stepLimitExceeded = 1225;
const types = { nodes: 1 } as const;
const elementNode = 1;
export const xpathMaxCharacters = 4096;
/** Operators, slashes, commas and predicates of an expression. */
const operatorsMax = 250;
const nestingMax = 64;
const limits = { characters: xpathMaxCharacters, nesting: nestingMax };
/** Elements with some of their namespaces in a filter, which are kept in the heap. */
const someMax = 100_000;

/**
 * Checks the syntax of an expression. The prefixes of a document may bind its names.
 * @throws {XPathInvalid}
 */
export function checkXPath({ expression }: Pick<XPath, 'expression'>): void {
  using document = XmlDocument.parse(Buffer.from('<none></none>'));
  evaluating(document, {}, new StepBudget(0), (evaluation) => {
    evaluation.compiled(expression);
    // libxml2 accepts some expressions that end too early.
    evaluation.compiled(`boolean(${expression})`, {
      max: { characters: xpathMaxCharacters + 'boolean()'.length, nesting: nestingMax + 1 },
    });
  });
}

/**
 * Returns the first elements that an expression selects, in document order, at most `max` of them.
 * The steps that it takes are spent.
 * @throws {XmlFault} if it fails in this document; XPathTooSlow
 */
export function selectElements(
  { expression, namespaces, isOwn = false }: XPath,
  document: XmlDocument,
  budget: StepBudget,
  max = 1,
): XmlNode[] {
  return evaluating(document, namespaces, budget, (evaluation) =>
    evaluation.compiled(expression, { isOwn }).read(evaluation.documentNode, (count, nodeAt) => {
      if (count === 0) return [];
      // A namespace node is a copy that has no room for a mark.
      const isElement = (node: Pointer): boolean => document.engine.get(node, offsets.type) === elementNode;
      for (let index = 0; index < count; index += 1) if (isElement(nodeAt(index))) document.mark(nodeAt(index), selectedMark);
      const found: XmlNode[] = [];
      for (const element of document.elements()) {
        if (document.isMarked(element, selectedMark)) found.push(element);
        if (found.length === max) break;
      }
      for (let index = 0; index < count; index += 1) if (isElement(nodeAt(index))) document.unmark(nodeAt(index), selectedMark);
      return found;
    }),
  );
}

/**
 * Returns the nodes of a document for which an expression is true, each as the context node: the
 * XPath filter of XML Signature (§6.6.3). The steps that it takes are spent.
 * @throws {XmlFault} if it fails in this document; XPathTooSlow
 */
export function filterNodes({ expression, namespaces }: XPath, document: XmlDocument, budget: StepBudget): NodeSet {
  const { engine } = document;
  const [mark, namespacesMark] = [document.newMark(), document.newMark()];
  const some = new Map<Pointer, ReadonlySet<string>>();
  let selected = 0;
  // The inner step makes the context of the expression a set of one node. The sets are not united
  // in XPath, which takes libxml2 a time that grows with their product.
  const filter = `[self::node()[boolean(${expression})]]`;
  evaluating(document, namespaces, budget, (evaluation) => {
    for (const path of [`/descendant-or-self::node()${filter}`, `/descendant::*/@*${filter}`]) {
      selected += evaluation.compiled(path).each(evaluation.documentNode, (node) => {
        document.mark(node, mark);
      });
    }
    const [all, filtered] = [evaluation.compiled('namespace::*'), evaluation.compiled(`namespace::*${filter}`)];
    for (const element of document.elements()) {
      const prefixes = new Set<string>();
      const count = filtered.each(element, (node) => prefixes.add(engine.text(engine.get(node, offsets.nsPrefix)) ?? ''));
      selected += count;
      if (count === 0) continue;
      if (count === all.each(element, () => undefined)) document.mark(element, namespacesMark);
      else some.set(element, prefixes);
      if (some.size > someMax) throw new XmlLimitFault('the XPath expression selects some of the namespaces of too many elements');
    }
  });
  return { mark, namespacesMark, namespaces: some, isEmpty: selected === 0 };
}

/** An expression that is ready for evaluation. */
interface Compiled {
  /** Reads the nodes selected from a context node while they exist. */
  read<T>(from: Pointer, read: (count: number, nodeAt: (index: number) => Pointer) => T): T;
  /** Calls `visit` with each node selected from a context node. Returns their number. */
  each(from: Pointer, visit: (node: Pointer) => void): number;
}

function evaluating<T>(document: XmlDocument, namespaces: XPath['namespaces'], budget: StepBudget, work: (evaluation: Evaluation) => T): T {
  const evaluation = new Evaluation(document, namespaces, budget);
  try {
    return work(evaluation);
  } finally {
    evaluation.release();
  }
}

/** Words and characters of an expression; in a literal or a name, none is an operator. */
const tokens = /"[^"]*"|'[^']*'|[0-9.]+(?:and|or|div|mod)|[\p{L}_][\p{L}\p{M}\p{N}._-]*|[()[\],/|+\-*=<>]/gu;
const operators: ReadonlySet<string> = new Set(['/', '[', ',', '|', '+', '-', '*', '=', '<', '>', 'and', 'or', 'div', 'mod']);

/**
 * Checks that an expression does not overrun the stack of the engine, which has 64 KiB: compiling
 * takes up to 272 bytes of it for each bracket within another, evaluating 53 bytes for each
 * operator or step of a chain, and up to 150 for each predicate (measured).
 * @throws {XPathTooLarge}
 */
function checkSize(expression: string, max: typeof limits): void {
  if (expression.length > max.characters) throw new XPathTooLarge(`an XPath expression has at most ${max.characters} characters`);
  let depth = 0;
  let chained = 0;
  for (const [token] of expression.matchAll(tokens)) {
    depth += token === '(' || token === '[' ? 1 : token === ')' || token === ']' ? -1 : 0;
    if (depth > max.nesting) throw new XPathTooLarge(`an XPath expression has at most ${max.nesting} brackets within each other`);
    // In libxml2, `1or1` are three words.
    if (operators.has(token) || /^[0-9.]+[a-z]/.test(token)) chained += 1;
    if (chained > operatorsMax)
      throw new XPathTooLarge(`an XPath expression has at most ${operatorsMax} operators, slashes, commas and predicates`);
  }
}

/** Evaluates expressions in one document; they share a limit of steps. */
class Evaluation {
  readonly documentNode: Pointer;
  readonly #document: XmlDocument;
  readonly #context: Pointer;
  readonly #expressions: Pointer[] = [];
  readonly #budget: StepBudget;

  constructor(document: XmlDocument, namespaces: XPath['namespaces'], budget: StepBudget) {
    const { engine } = document;
    const { library } = engine;
    this.#document = document;
    this.#budget = budget;
    this.documentNode = engine.get(document.root, offsets.parent);
    this.#context = library._xmlXPathNewContext(document.address);
    if (this.#context === 0) throw new XmlFault('the document is too large');
    // Without a handler, libxml2 prints errors.
    engine.set(this.#context, offsets.xpathError, engine.errorFunction);
    engine.set(this.#context, offsets.xpathOpLimit, Math.max(1, budget.left));
    for (const [prefix, uri] of Object.entries(namespaces))
      engine.withTexts([prefix, uri], (prefixText, uriText) => library._xmlXPathRegisterNs(this.#context, prefixText, uriText));
  }

  release(): void {
    const { engine } = this.#document;
    const { library } = engine;
    this.#budget.spend(engine.get(this.#context, offsets.xpathOpCount));
    for (const expression of this.#expressions) library._xmlXPathFreeCompExpr(expression);
    library._xmlXPathFreeContext(this.#context);
  }

  /** @throws {XPathInvalid} */
  compiled(expression: string, { max = limits, isOwn = false } = {}): Compiled {
    checkSize(expression, max);
    const { engine } = this.#document;
    const { outcome, errors } = engine.withErrors(() =>
      engine.withTexts([expression], (text) => engine.library._xmlXPathCtxtCompile(this.#context, text)),
    );
    if (outcome !== 0) this.#expressions.push(outcome);
    if (outcome === 0 || errors.length > 0) throw new XPathInvalid(`not a valid XPath 1.0 expression${because(errors)}`);
    if (!isOwn) addCharges(engine, outcome);
    return {
      read: (from, read) => this.#read(outcome, from, read),
      each: (from, visit) =>
        this.#read(outcome, from, (count, nodeAt) => {
          for (let index = 0; index < count; index += 1) visit(nodeAt(index));
          return count;
        }),
    };
  }

  #isSpent(): boolean {
    const { engine } = this.#document;
    return engine.get(this.#context, offsets.xpathOpCount) >= engine.get(this.#context, offsets.xpathOpLimit);
  }

  #read<T>(expression: Pointer, from: Pointer, read: (count: number, nodeAt: (index: number) => Pointer) => T): T {
    const { engine } = this.#document;
    const { library } = engine;
    engine.set(this.#context, offsets.xpathNode, from);
    const { outcome: object, errors } = engine.withErrors(() => library._xmlXPathCompiledEval(expression, this.#context));
    if (object === 0) {
      if (errors[0]?.code === stepLimitExceeded || this.#isSpent()) throw new XPathTooSlow(tooManySteps(this.#budget));
      throw new XmlFault(`the XPath expression cannot be evaluated${because(errors)}`);
    }
    try {
      if (engine.get(object, offsets.objectType) !== types.nodes) throw new XmlFault('the XPath expression selects no nodes but a value');
      const set = engine.get(object, offsets.objectNodes);
      const start = set === 0 ? 0 : engine.get(set, offsets.setTable);
      const count = set === 0 ? 0 : engine.get(set, offsets.setCount);
      return read(count, (index) => engine.get(start, 4 * index));
    } finally {
      library._xmlXPathFreeObject(object);
    }
  }
}

function tooManySteps({ max }: StepBudget): string {
  return `the XPath expression takes more than ${max} steps in this document`;
}

function because([error]: readonly EngineError[]): string {
  return error === undefined ? '' : `: ${error.message}`;
}
