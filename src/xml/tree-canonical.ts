import { keepsComments, type Canonicalisation } from './canonicalisation.ts';
import { nodeTypes, offsets, type Engine, type Pointer, type XmlNode } from './engine.ts';
import { XmlFault } from './xml-fault.ts';

/**
 * Nodes selected by an XPath filter. They are marked in the memory of the engine, since the heap
 * has no room for the nodes of a big document.
 */
export interface NodeSet {
  /** Mark of its nodes, namespace nodes excepted. */
  readonly mark: number;
  /** Mark of elements all of whose namespace nodes are in it. */
  readonly namespacesMark: number;
  /**
   * Prefixes of the namespace nodes in it, of elements that have others too; the default namespace
   * is ''.
   */
  readonly namespaces: ReadonlyMap<Pointer, ReadonlySet<string>>;
  readonly isEmpty: boolean;
}

/** What is canonicalised, and how. */
export interface CanonicalRequest {
  readonly algorithm: Canonicalisation;
  /** Exclusive canonicalisation: the InclusiveNamespaces PrefixList. */
  readonly inclusivePrefixes?: readonly string[] | undefined;
  /** The element whose subtree is canonicalised; default: the whole document. */
  readonly apex?: XmlNode | undefined;
  /** Elements left out with everything in them. */
  readonly without?: readonly XmlNode[] | undefined;
  /** Only these nodes, of those that `apex` and `without` leave. */
  readonly nodes?: readonly NodeSet[] | undefined;
}

/** `xmlC14NMode` */
const modes = { C14N: 0, EXC_C14N: 1, C14N_11: 2 } as const;

/**
 * Writes the canonical form of a parsed document, in pieces that are valid only during the call.
 * `address`: that of the document in the engine.
 * @throws {XmlFault} if there is none
 */
export function canonicaliseTree(
  engine: Engine,
  address: Pointer,
  { algorithm, inclusivePrefixes, apex, without = [], nodes = [] }: CanonicalRequest,
  write: (bytes: Uint8Array) => void,
): void {
  const attachments = without.map((element) => detach(engine, element));
  try {
    const isVisible = visibility(engine, apex, nodes);
    if (isVisible !== undefined) engine.isVisible = isVisible;
    engine.write = write;
    execute(engine, address, algorithm, inclusivePrefixes, isVisible === undefined ? 0 : engine.visibleFunction);
  } finally {
    for (const attach of attachments.toReversed()) attach();
  }
}

function execute(
  engine: Engine,
  address: Pointer,
  algorithm: Canonicalisation,
  inclusivePrefixes: readonly string[] | undefined,
  callback: Pointer,
): void {
  const { library } = engine;
  const mode = algorithm.startsWith('EXC_') ? modes.EXC_C14N : algorithm.startsWith('C14N_11') ? modes.C14N_11 : modes.C14N;
  const output = library._xmlOutputBufferCreateIO(engine.writeFunction, engine.closeFunction, 0, 0);
  if (output === 0) throw new XmlFault('the document is too large');
  // libxml2 calls the default namespace `#default` too.
  const prefixes = mode === modes.EXC_C14N ? (inclusivePrefixes ?? []) : [];
  const { outcome, errors } = engine.withErrors(() =>
    engine.withTexts(prefixes, (...texts) => {
      const list = Buffer.from(Int32Array.from([...texts, 0]).buffer);
      return engine.withBytes(list, (array) => {
        const listOrNone = prefixes.length === 0 ? 0 : array;
        const result = library._xmlC14NExecute(address, callback, 0, mode, listOrNone, keepsComments(algorithm) ? 1 : 0, output);
        return library._xmlOutputBufferClose(output) < 0 ? -1 : result;
      });
    }),
  );
  if (outcome < 0) throw new XmlFault(errors[0]?.message ?? 'unknown reason');
}

/** Takes an element out of the tree. Returns a function that puts it back. */
function detach(engine: Engine, element: XmlNode): () => void {
  const { children, last, parent, next, previous } = offsets;
  const [above, before, after] = [engine.get(element, parent), engine.get(element, previous), engine.get(element, next)];
  const first = engine.get(above, children) === element;
  const final = engine.get(above, last) === element;
  if (before !== 0) engine.set(before, next, after);
  if (after !== 0) engine.set(after, previous, before);
  if (first) engine.set(above, children, after);
  if (final) engine.set(above, last, before);
  return () => {
    if (before !== 0) engine.set(before, next, element);
    if (after !== 0) engine.set(after, previous, element);
    if (first) engine.set(above, children, element);
    if (final) engine.set(above, last, element);
  };
}

function visibility(engine: Engine, apex: XmlNode | undefined, sets: readonly NodeSet[]): Engine['isVisible'] | undefined {
  if (apex === undefined && sets.length === 0) return undefined;
  const inApex = apex === undefined ? undefined : within(engine, apex);
  return (node, parent) => {
    const isNamespace = engine.get(node, offsets.type) === nodeTypes.namespace;
    if (inApex !== undefined && !inApex(node, parent)) return 0;
    if (sets.length === 0) return 1;
    const prefix = isNamespace ? (engine.text(engine.get(node, offsets.nsPrefix)) ?? '') : '';
    const marks = engine.get(isNamespace ? parent : node, offsets.mark);
    const isIn = (set: NodeSet): boolean =>
      isNamespace ? (marks & set.namespacesMark) !== 0 || set.namespaces.get(parent)?.has(prefix) === true : (marks & set.mark) !== 0;
    return sets.every(isIn) ? 1 : 0;
  };
}

/** Returns a function that checks whether a node is in a subtree, for nodes in document order. */
function within(engine: Engine, apex: XmlNode): (node: Pointer, parent: Pointer) => boolean {
  // Most nodes have the parent of the one before.
  let known = 0;
  let isKnownWithin = false;
  return (node, parent) => {
    if (node === apex) return true;
    if (parent !== known) {
      known = parent;
      isKnownWithin = false;
      for (let one = parent; one !== 0 && !isKnownWithin; one = engine.get(one, offsets.parent)) isKnownWithin = one === apex;
    }
    return isKnownWithin;
  };
}
