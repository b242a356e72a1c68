/**
 * The libxml2 engine (libxml2-wasm, pinned: the offsets below are those of its build). Its memory
 * is separate from that of the process, so that a fault in the parser cannot reach anything else.
 */
import { finishWithTask } from '../threads/after-task.ts';
import loadLibxml2, { type LibXml2 } from 'libxml2-wasm/lib/libxml2raw.mjs';

/** Address in the memory of an engine; 0: none. */
export type Pointer = number;

declare const nodeOf: unique symbol;
/**
 * A node of a document: an element unless stated otherwise. Valid until the document is disposed.
 */
export type XmlNode = Pointer & { readonly [nodeOf]: true };

/** Values of `xmlElementType`. */
export const nodeTypes = { element: 1, attribute: 2, text: 3, cdata: 4, document: 9, namespace: 18 } as const;

/** Offsets of fields in bytes, in structures of libxml2 on a machine with 32-bit pointers. */
export const offsets = {
  // xmlNode, xmlAttr; xmlNs has its type at the same place.
  ...{ mark: 0, type: 4, name: 8, children: 12, last: 16, parent: 20, next: 24, previous: 28, namespace: 36, content: 40 },
  ...{ attributes: 44, namespaceDeclarations: 48, line: 56 },
  // xmlNs
  ...{ nsNext: 0, nsHref: 8, nsPrefix: 12 },
  // xmlError
  ...{ errorCode: 4, errorMessage: 8, errorLevel: 12, errorLine: 20, errorColumn: 40 },
  // xmlXPathContext
  ...{ xpathNode: 4, xpathUserData: 128, xpathError: 132, xpathOpLimit: 204, xpathOpCount: 208 },
  // xmlXPathObject and xmlNodeSet
  ...{ objectType: 0, objectNodes: 4, objectBoolean: 8, setCount: 0, setTable: 8 },
} as const;

/** Error of libxml2. */
export interface EngineError {
  readonly code: number;
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** `xmlErrorLevel` from which a document is not well formed; those below are warnings. */
const errorLevel = 2;

/**
 * Memory of an engine beyond which it is replaced when a document is released: a new one takes 60
 * ms of processor time, so documents of 10 MiB, for which it grows to 102 MiB, leave it.
 */
const memoryMaxBytes = 128 * 1024 * 1024;

/** One instance of libxml2. Its functions are synchronous, and it runs one at a time. */
export class Engine {
  readonly library: LibXml2;
  /** Called by canonicalisation: 1 if the node is visible. */
  readonly visibleFunction: Pointer;
  readonly writeFunction: Pointer;
  readonly closeFunction: Pointer;
  readonly errorFunction: Pointer;
  isVisible: (node: Pointer, parent: Pointer) => number = () => 1;
  write: (bytes: Uint8Array) => void = () => undefined;
  readonly #xpathFunctions = new Map<string, Pointer>();
  #errors: EngineError[] = [];

  constructor(library: LibXml2) {
    this.library = library;
    this.visibleFunction = library.addFunction(
      (_data: Pointer, node: Pointer, parent: Pointer): number => this.isVisible(node, parent),
      'iiii',
    );
    this.writeFunction = library.addFunction((_data: Pointer, bytes: Pointer, count: number): number => {
      this.write(library.HEAPU8.subarray(bytes, bytes + count));
      return count;
    }, 'iiii');
    this.closeFunction = library.addFunction((): number => 0, 'ii');
    this.errorFunction = library.addFunction((_data: Pointer, error: Pointer): void => {
      this.#noteError(error);
    }, 'vii');
  }

  get(address: Pointer, offset: number): number {
    return this.library.HEAP32[(address + offset) >> 2] ?? 0;
  }

  set(address: Pointer, offset: number, value: number): void {
    this.library.HEAP32[(address + offset) >> 2] = value;
  }

  /** Returns a text that ends with NUL; undefined at address 0. */
  text(address: Pointer): string | undefined {
    return address === 0 ? undefined : this.library.UTF8ToString(address);
  }

  /**
   * Returns a function for XPath expressions, which is added at its first use. `call` is given the
   * evaluation (`xmlXPathParserContext`).
   */
  xpathFunction(name: string, call: (evaluation: Pointer) => void): Pointer {
    const added =
      this.#xpathFunctions.get(name) ??
      this.library.addFunction((evaluation: Pointer, _arguments: number) => {
        call(evaluation);
      }, 'vii');
    this.#xpathFunctions.set(name, added);
    return added;
  }

  /** Runs `work` with texts in the memory of the engine. */
  withTexts<T>(texts: readonly (string | undefined)[], work: (...addresses: Pointer[]) => T): T {
    const addresses: Pointer[] = [];
    try {
      for (const text of texts) addresses.push(text === undefined ? 0 : this.#allocated(Buffer.from(`${text}\0`)));
      return work(...addresses);
    } finally {
      for (const address of addresses) this.library._free(address);
    }
  }

  withBytes<T>(bytes: Uint8Array, work: (address: Pointer) => T): T {
    const address = this.#allocated(bytes);
    try {
      return work(address);
    } finally {
      this.library._free(address);
    }
  }

  /** Runs `work` and returns its outcome with the errors that libxml2 reported meanwhile. */
  withErrors<T>(work: () => T): { readonly outcome: T; readonly errors: readonly EngineError[] } {
    this.#errors = [];
    try {
      const outcome = work();
      return { outcome, errors: this.#errors };
    } catch (error) {
      // A trap of WebAssembly, whose memory may now be anything.
      if (error instanceof Error && error.name === 'RuntimeError') renew();
      throw error;
    }
  }

  #allocated(bytes: Uint8Array): Pointer {
    const address = this.library._malloc(Math.max(1, bytes.length));
    if (address === 0) throw new RangeError('the XML engine is out of memory');
    this.library.HEAPU8.set(bytes, address);
    return address;
  }

  #noteError(error: Pointer): void {
    // The first one is the cause. A document can have millions of them.
    if (this.#errors.length > 0 || this.get(error, offsets.errorLevel) < errorLevel) return;
    this.#errors.push({
      code: this.get(error, offsets.errorCode),
      message: (this.text(this.get(error, offsets.errorMessage)) ?? '').trim(),
      line: this.get(error, offsets.errorLine),
      column: this.get(error, offsets.errorColumn),
    });
  }
}

let current = await newEngine();
let isRenewing = false;

async function newEngine(): Promise<Engine> {
  const library = await loadLibxml2();
  library._xmlInitParser();
  return new Engine(library);
}

/** Returns the engine for new documents. */
export function engine(): Engine {
  return current;
}

/**
 * Replaces the engine if it has grown: its memory never shrinks, and is returned only when nothing
 * refers to it.
 */
export function renewIfLarge(): void {
  if (current.library.HEAPU8.length > memoryMaxBytes) renew();
}

/** Replaces the engine for new documents, as soon as another one is loaded. */
function renew(): void {
  if (isRenewing) return;
  isRenewing = true;
  const renewal = newEngine()
    .then((renewed) => {
      current = renewed;
    })
    .finally(() => {
      isRenewing = false;
    });
  finishWithTask(renewal);
}
