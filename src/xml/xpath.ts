import { offsets, type EngineError, type Pointer } from './engine.ts';
import { XmlDocument, type NodeSet, type XmlNode } from './xml-document.ts';
import { XmlFault } from './xml-fault.ts';

/** Thrown for an XPath expression that is not valid, whatever the document. */
export class XPathInvalid extends Error {}

/** Thrown for an XPath expression that takes too many steps in a document. */
export class XPathTooSlow extends XmlFault {}

/** An expression of XPath 1.0 and its namespaces, by prefix. */
export interface XPath {
  readonly expression: string;
  readonly namespaces: Readonly<Record<string, string>>;
}

/** Code of libxml2 for an expression that exceeds its limit of steps (`XPATH_OP_LIMIT_EXCEEDED`). */
const stepLimitExceeded = 1225;
const types = { nodes: 1 } as const;
const elementNode = 1;

/** Checks the syntax of an expression. The prefixes of a document may bind its names. @throws {XPathInvalid} */
export function checkXPath({ expression }: Pick<XPath, 'expression'>): void {
  using document = XmlDocument.parse(Buffer.from('<none></none>'));
  const evaluation = new Evaluation(document, {}, 0);
  try {
    evaluation.compiled(expression);
    // libxml2 accepts some expressions that end too early.
    evaluation.compiled(`boolean(${expression})`);
  } finally {
    evaluation.release();
  }
}

/**
 * Returns the elements that an expression selects, in document order. `stepsMax`: the number of
 * steps that libxml2 counts, some 25 million a second; it does not count all its work.
 * @throws {XmlFault} if it fails in this document; XPathTooSlow
 */
export function selectElements(xpath: XPath, document: XmlDocument, stepsMax: number): XmlNode[] {
  const { engine } = document;
  const evaluation = new Evaluation(document, xpath.namespaces, stepsMax);
  try {
    const found = evaluation
      .compiled(xpath.expression)
      .nodes(evaluation.documentNode)
      .filter((node) => engine.get(node, offsets.type) === elementNode);
    if (found.length <= 1) return found as XmlNode[];
    const wanted = new Set<Pointer>(found);
    return Array.from(document.elements()).filter((element) => wanted.has(element));
  } finally {
    evaluation.release();
  }
}

/**
 * Returns the nodes of a document for which an expression is true, each as the context node: the
 * XPath filter of XML Signature (§6.6.3).
 * @throws {XmlFault} if it fails in this document; XPathTooSlow
 */
export function filterNodes({ expression, namespaces }: XPath, document: XmlDocument, stepsMax: number): NodeSet {
  const { engine } = document;
  const evaluation = new Evaluation(document, namespaces, stepsMax);
  try {
    // The inner step makes the context of the expression a set of one node. The sets are not united
    // in XPath, which takes libxml2 a time that grows with their product.
    const filter = `[self::node()[boolean(${expression})]]`;
    const nodes = new Set<Pointer>();
    for (const path of [`/descendant-or-self::node()${filter}`, `/descendant::*/@*${filter}`])
      for (const node of evaluation.compiled(path).nodes(evaluation.documentNode)) nodes.add(node);
    const ofElement = evaluation.compiled(`namespace::*${filter}`);
    const prefixes = new Map<Pointer, ReadonlySet<string>>();
    for (const element of document.elements()) {
      const found = ofElement.nodes(element, (node) => engine.text(engine.get(node, offsets.nsPrefix)) ?? '');
      if (found.length > 0) prefixes.set(element, new Set(found));
    }
    return { nodes, namespaces: prefixes };
  } finally {
    evaluation.release();
  }
}

/** An expression that is ready for evaluation. */
interface Compiled {
  /** Returns the nodes selected from a context node, or what is read of them. */
  nodes(from: Pointer): Pointer[];
  nodes<T>(from: Pointer, read: (node: Pointer) => T): T[];
}

/** Evaluates expressions in one document; they share a limit of steps. */
class Evaluation {
  readonly documentNode: Pointer;
  readonly #document: XmlDocument;
  readonly #context: Pointer;
  readonly #expressions: Pointer[] = [];
  readonly #stepsMax: number;

  constructor(document: XmlDocument, namespaces: XPath['namespaces'], stepsMax: number) {
    const { engine } = document;
    const { library } = engine;
    this.#document = document;
    this.#stepsMax = stepsMax;
    this.documentNode = engine.get(document.root, offsets.parent);
    this.#context = library._xmlXPathNewContext(document.address);
    if (this.#context === 0) throw new XmlFault('the document is too large');
    // Without a handler, libxml2 prints errors.
    engine.set(this.#context, offsets.xpathError, engine.errorFunction);
    engine.set(this.#context, offsets.xpathOpLimit, stepsMax);
    for (const [prefix, uri] of Object.entries(namespaces))
      engine.withTexts([prefix, uri], (prefixText, uriText) => library._xmlXPathRegisterNs(this.#context, prefixText, uriText));
  }

  release(): void {
    const { library } = this.#document.engine;
    for (const expression of this.#expressions) library._xmlXPathFreeCompExpr(expression);
    library._xmlXPathFreeContext(this.#context);
  }

  /** @throws {XPathInvalid} */
  compiled(expression: string): Compiled {
    const { engine } = this.#document;
    const { outcome, errors } = engine.withErrors(() =>
      engine.withTexts([expression], (text) => engine.library._xmlXPathCtxtCompile(this.#context, text)),
    );
    if (outcome !== 0) this.#expressions.push(outcome);
    if (outcome === 0 || errors.length > 0) throw new XPathInvalid(`not a valid XPath 1.0 expression${because(errors)}`);
    return {
      nodes: <T>(from: Pointer, read?: (node: Pointer) => T) => this.#nodes(outcome, from, read ?? ((node) => node as T)),
    };
  }

  #nodes<T>(expression: Pointer, from: Pointer, read: (node: Pointer) => T): T[] {
    const { engine } = this.#document;
    const { library } = engine;
    engine.set(this.#context, offsets.xpathNode, from);
    const { outcome: object, errors } = engine.withErrors(() => library._xmlXPathCompiledEval(expression, this.#context));
    if (object === 0) {
      if (errors[0]?.code === stepLimitExceeded)
        throw new XPathTooSlow(`the XPath expression takes more than ${this.#stepsMax} steps in this document`);
      throw new XmlFault(`the XPath expression cannot be evaluated${because(errors)}`);
    }
    try {
      if (engine.get(object, offsets.objectType) !== types.nodes) throw new XmlFault('the XPath expression selects no nodes but a value');
      const set = engine.get(object, offsets.objectNodes);
      const start = set === 0 ? 0 : engine.get(set, offsets.setTable);
      const count = set === 0 ? 0 : engine.get(set, offsets.setCount);
      return Array.from({ length: count }, (_, index) => read(engine.get(start, 4 * index)));
    } finally {
      library._xmlXPathFreeObject(object);
    }
  }
}

function because([error]: readonly EngineError[]): string {
  return error === undefined ? '' : `: ${error.message}`;
}
