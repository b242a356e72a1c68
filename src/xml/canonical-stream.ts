import { Asides } from './asides.ts';
import { CanonicalElements } from './canonical-elements.ts';
import { PartInProgress, type CanonicalPart } from './canonical-part.ts';
import { CanonicalRun } from './canonical-run.ts';
import { CharacterData } from './character-data.ts';
import { checkUtf8 } from './check-utf8.ts';
import { afterSpace, isSpace, Malformed } from './markup-bytes.ts';
import { PieceWindow } from './piece-window.ts';
import { byteOrderMarkLength, xmlFaultAt } from './xml-fault.ts';

/**
 * Writes canonical forms of a well-formed document in UTF-8 without DOCTYPE, in one pass over its
 * pieces, which may be cut anywhere. It shares no code with libxml2 and so checks it.
 * @throws {XmlFault} for a document that is not well formed; parts of the forms are written by then
 * @see https://www.w3.org/TR/xml-c14n
 * @see https://www.w3.org/TR/xml-c14n11
 * @see https://www.w3.org/TR/xml-exc-c14n
 */
export function canonicalise(pieces: readonly Uint8Array[], parts: readonly CanonicalPart[]): void {
  checkUtf8(pieces);
  const window = new PieceWindow(pieces);
  try {
    new CanonicalStream(window, parts).run(byteOrderMarkLength(pieces));
  } catch (error) {
    if (error instanceof Malformed) throw xmlFaultAt(pieces, window.base + error.offset, error.message);
    throw error;
  }
}

/** XML 1.0, production 23. */
const xmlDeclaration =
  /^<\?xml\s+version\s*=\s*(?:"1\.[0-9]+"|'1\.[0-9]+')(?:\s+encoding\s*=\s*(?:"[\w.-]+"|'[\w.-]+'))?(?:\s+standalone\s*=\s*(?:"yes"|"no"|'yes'|'no'))?\s*\?>$/;

const sectionStart = Buffer.from('<![CDATA[');

/**
 * Reads a document token by token. Methods that read return offsets as those of `CharacterData` do.
 */
class CanonicalStream {
  readonly #window: PieceWindow;
  readonly #parts: readonly PartInProgress[];
  readonly #run: CanonicalRun;
  readonly #elements: CanonicalElements;
  readonly #characters: CharacterData;
  readonly #asides: Asides;

  constructor(window: PieceWindow, parts: readonly CanonicalPart[]) {
    this.#window = window;
    this.#parts = parts.map((part) => new PartInProgress(part));
    const whole = this.#parts.filter(({ apex }) => apex === undefined);
    this.#run = new CanonicalRun(window, whole);
    this.#elements = new CanonicalElements(window, this.#parts, this.#run);
    this.#characters = new CharacterData(window, this.#run);
    this.#asides = new Asides(window, this.#run);
  }

  /** `documentStart`: bytes before the document, 3 for a byte order mark. */
  run(documentStart: number): void {
    let position = this.#window.advance(0) ?? 0;
    while (this.#window.bytes.length - position < documentStart) position = this.#window.advance(position) ?? position;
    position += documentStart;
    this.#run.start = position;
    /** An XML declaration may be there, or the first piece is too short to tell. */
    let isStart = true;
    for (let moved: number | undefined = position; moved !== undefined; moved = this.#window.advance(position)) {
      position = moved;
      this.#run.start = moved;
      const behind: number | undefined = isStart ? this.#declaration(position) : position;
      if (behind === undefined) continue;
      isStart = false;
      this.#run.start = behind;
      position = this.#content(behind);
      this.#run.end(position, position);
    }
    if (position < this.#window.bytes.length || this.#elements.depth > 0)
      throw new Malformed('the document ends too early', this.#window.bytes.length);
    if (this.#elements.count === 0) throw new Malformed('the document has no root element', position);
    for (const { output } of this.#parts) output.flush();
  }

  /** Reads the XML declaration, if there is one. Undefined if that cannot be decided yet. */
  #declaration(at: number): number | undefined {
    const { bytes } = this.#window;
    for (let index = 0; index < 5; index += 1) {
      if (at + index >= bytes.length) return undefined;
      if (bytes[at + index] !== '<?xml'.charCodeAt(index)) return at;
    }
    if (at + 5 >= bytes.length) return undefined;
    if (!isSpace(bytes[at + 5])) return at;
    const end = bytes.indexOf('?>', at + 5);
    if (end < 0) return undefined;
    if (!xmlDeclaration.test(bytes.toString('latin1', at, end + 2))) throw new Malformed('the XML declaration is malformed', at);
    return end + 2;
  }

  /**
   * Reads whole tokens from `at` on. Returns the offset of the first one that extends beyond the
   * window.
   */
  #content(from: number): number {
    const { bytes } = this.#window;
    const end = bytes.length;
    for (let at = from; ;) {
      if (at >= end) return at;
      const next = this.#characters.isInSection ? this.#characters.section(at) : bytes[at] === 0x3c ? this.#markup(at) : this.#text(at);
      if (next === at) return at;
      at = next;
    }
  }

  #markup(at: number): number {
    const { bytes } = this.#window;
    const second = bytes[at + 1];
    if (second === 0x2f) return this.#elements.endTag(at);
    if (at + 1 >= bytes.length) return at;
    if (second === 0x3f) return this.#asides.instruction(at, this.#place);
    if (second === 0x21) return this.#commentOrSection(at);
    return this.#elements.startTag(at);
  }

  #text(at: number): number {
    if (this.#elements.depth > 0) return this.#characters.text(at);
    const { bytes } = this.#window;
    const next = afterSpace(bytes, at, bytes.length);
    if (next < bytes.length && bytes[next] !== 0x3c) throw new Malformed('text outside the root element', next);
    this.#run.end(at, next);
    return next;
  }

  #commentOrSection(at: number): number {
    const { bytes } = this.#window;
    if (at + 3 >= bytes.length) return at;
    if (bytes[at + 2] === 0x2d && bytes[at + 3] === 0x2d) return this.#asides.comment(at, this.#place);
    for (let index = 2; index < sectionStart.length; index += 1) {
      if (at + index >= bytes.length) return at;
      if (bytes[at + index] !== sectionStart[index]) throw new Malformed('a declaration is not allowed', at);
    }
    if (this.#elements.depth === 0) throw new Malformed('text outside the root element', at);
    this.#run.end(at, at + sectionStart.length);
    this.#characters.isInSection = true;
    return at + sectionStart.length;
  }

  get #place(): 'before the root' | 'in the root' | 'behind the root' {
    if (this.#elements.depth > 0) return 'in the root';
    return this.#elements.count === 0 ? 'before the root' : 'behind the root';
  }
}
