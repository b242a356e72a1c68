import { attributeValue } from './attribute-value.ts';
import { checkUtf8 } from './check-utf8.ts';
import { PartInProgress, type CanonicalPart } from './canonical-part.ts';
import { InheritedAttributes } from './inherited-attributes.ts';
import { afterSpace, hasBytes, isSpace, Malformed, nameBytes, nameStartBytes } from './malformed.ts';
import { NameTable, type Name } from './name-table.ts';
import { NamespaceScope, type Prefix } from './namespace-scope.ts';
import { PieceWindow } from './piece-window.ts';
import { referenceEnd, referredCodePoint } from './reference.ts';
import { StartTag } from './start-tag.ts';
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

/** Bytes of text at which a run that is copied as it is may end: 1 `<`, 2 others, 3 not a character. */
const textBytes = new Uint8Array(256);
textBytes.fill(3, 0, 0x20);
textBytes[0x09] = 0;
textBytes[0x0a] = 0;
textBytes[0x0d] = 2;
textBytes[0x26] = 2;
textBytes[0x3e] = 2;
textBytes[0x3c] = 1;

/** XML 1.0, production 23. */
const xmlDeclaration =
  /^<\?xml\s+version\s*=\s*(?:"1\.[0-9]+"|'1\.[0-9]+')(?:\s+encoding\s*=\s*(?:"[\w.-]+"|'[\w.-]+'))?(?:\s+standalone\s*=\s*(?:"yes"|"no"|'yes'|'no'))?\s*\?>$/;

const ampersand = Buffer.from('&amp;');
const lessThan = Buffer.from('&lt;');
const greaterThan = Buffer.from('&gt;');
const carriageReturn = Buffer.from('&#xD;');
const lineFeed = Buffer.from('\n');
const cdataStart = Buffer.from('<![CDATA[');

/**
 * Reads a document token by token. What the active parts are to write as it stands remains a run of
 * the window, which is copied when something else is to be written. Each method that reads takes
 * the offset of a token, and returns the offset behind what it has read: the same one if the token
 * extends beyond the window.
 */
class CanonicalStream {
  readonly #window: PieceWindow;
  readonly #parts: readonly PartInProgress[];
  readonly #scope = new NamespaceScope();
  readonly #names: NameTable;
  readonly #tag: StartTag;
  /** Undefined if no part inherits attributes. */
  readonly #inherited: InheritedAttributes | undefined;
  readonly #apexes: ReadonlySet<number>;
  #active: readonly PartInProgress[];
  #runStart = 0;
  #elements = 0;
  #inCdata = false;
  #depth = 0;
  /** Of the open elements: names, marks of the scope, and the active parts around them if those differ. */
  readonly #open: Name[] = [];
  readonly #marks: number[] = [];
  readonly #activeAround: (readonly PartInProgress[] | undefined)[] = [];
  readonly #declared: Prefix[] = [];

  constructor(window: PieceWindow, parts: readonly CanonicalPart[]) {
    this.#window = window;
    this.#parts = parts.map((part) => new PartInProgress(part));
    this.#active = this.#parts.filter(({ apex }) => apex === undefined);
    this.#apexes = new Set(this.#parts.flatMap(({ apex }) => (apex === undefined ? [] : [apex])));
    this.#names = new NameTable(this.#scope, new Set(this.#parts.flatMap(({ watched }) => watched)));
    this.#tag = new StartTag(this.#names);
    const inherits = this.#parts.some(({ apex, rules }) => apex !== undefined && apex > 0 && rules !== 'exclusive');
    this.#inherited = inherits ? new InheritedAttributes() : undefined;
  }

  run(documentStart: number): void {
    let position = this.#window.advance(0) ?? 0;
    while (this.#window.bytes.length - position < documentStart) position = this.#window.advance(position) ?? position;
    position += documentStart;
    this.#runStart = position;
    let isStart = true;
    for (;;) {
      if (isStart) {
        const next = this.#declaration(position);
        isStart = next === undefined;
        position = next ?? position;
      }
      if (!isStart) position = this.#content(position);
      this.#endRun(position, position);
      const moved = this.#window.advance(position);
      if (moved === undefined) {
        if (!isStart) break;
        throw new Malformed('the document has no root element', position);
      }
      position = moved;
      this.#runStart = moved;
    }
    if (position < this.#window.bytes.length || this.#inCdata || this.#depth > 0)
      throw new Malformed('the document ends too early', this.#window.bytes.length);
    if (this.#elements === 0) throw new Malformed('the document has no root element', position);
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
    this.#runStart = end + 2;
    return end + 2;
  }

  /** Reads whole tokens from `at` on. Returns the offset of the first one that extends beyond the window. */
  #content(from: number): number {
    const { bytes } = this.#window;
    const end = bytes.length;
    for (let at = from; ;) {
      if (at >= end) return at;
      const isMarkup = !this.#inCdata && bytes[at] === 0x3c;
      const next = isMarkup ? this.#markup(at) : this.#inCdata ? this.#cdata(at) : this.#text(at);
      if (next === at) return at;
      at = next;
    }
  }

  #markup(at: number): number {
    const { bytes } = this.#window;
    const second = bytes[at + 1];
    if (second === 0x2f) return this.#endTag(at);
    if (at + 1 >= bytes.length) return at;
    if (second === 0x3f) return this.#instruction(at);
    if (second === 0x21) return this.#commentOrCdata(at);
    return this.#startTag(at);
  }

  #text(at: number): number {
    const { bytes } = this.#window;
    const end = bytes.length;
    if (this.#depth === 0) return this.#spaceOutside(at);
    for (let next = at; ;) {
      let kind = 0;
      while (next < end && (kind = textBytes[bytes[next] ?? 0] ?? 0) === 0) next += 1;
      if (next >= end) return withoutBrackets(bytes, at, end);
      if (kind === 1) return next;
      const byte = bytes[next];
      if (byte === 0x26) {
        const behind = referenceEnd(bytes, next, end);
        if (behind === next) return next;
        this.#writeCharacter(next, behind, referredCodePoint(bytes, next, behind));
        next = behind;
      } else if (byte === 0x3e) {
        if (next - at >= 2 && bytes[next - 1] === 0x5d && bytes[next - 2] === 0x5d) throw new Malformed('text contains ]]>', next - 2);
        this.#replace(next, next + 1, greaterThan);
        next += 1;
      } else if (kind === 3) {
        throw new Malformed('a character is not allowed', next);
      } else {
        const behind = this.#lineEnd(next);
        if (behind === next) return next;
        next = behind;
      }
    }
  }

  #spaceOutside(at: number): number {
    const { bytes } = this.#window;
    const next = afterSpace(bytes, at, bytes.length);
    if (next < bytes.length && bytes[next] !== 0x3c) throw new Malformed('text outside the root element', next);
    this.#endRun(at, next);
    return next;
  }

  /** Writes the character of a reference. */
  #writeCharacter(at: number, end: number, codePoint: number): void {
    const { bytes } = this.#window;
    const second = bytes[at + 1];
    if (codePoint === 0x26) this.#replace(at, end, ampersand, second !== 0x23);
    else if (codePoint === 0x3c) this.#replace(at, end, lessThan, second !== 0x23);
    else if (codePoint === 0x3e) this.#replace(at, end, greaterThan, second !== 0x23);
    else if (codePoint === 0x0d) this.#replace(at, end, carriageReturn, end - at === 5 && bytes[at + 2] === 0x78);
    else this.#replace(at, end, Buffer.from(String.fromCodePoint(codePoint)));
  }

  /** Reads a carriage return, and writes a line feed for it and a line feed that follows. */
  #lineEnd(at: number): number {
    const { bytes } = this.#window;
    if (at + 1 >= bytes.length) return at;
    if (bytes[at + 1] === 0x0a) this.#endRun(at, at + 1);
    else this.#replace(at, at + 1, lineFeed);
    return at + 1;
  }

  #cdata(at: number): number {
    const { bytes } = this.#window;
    const end = bytes.length;
    for (let next = at; ;) {
      while (next < end && textBytes[bytes[next] ?? 0] === 0 && bytes[next] !== 0x5d) next += 1;
      if (next >= end) return next;
      const byte = bytes[next];
      if (byte === 0x5d) {
        if (next + 2 >= end) return next;
        if (bytes[next + 1] === 0x5d && bytes[next + 2] === 0x3e) {
          this.#endRun(next, next + 3);
          this.#inCdata = false;
          return next + 3;
        }
        next += 1;
      } else if (byte === 0x0d) {
        const behind = this.#lineEnd(next);
        if (behind === next) return next;
        next = behind;
      } else {
        const escaped = byte === 0x26 ? ampersand : byte === 0x3c ? lessThan : byte === 0x3e ? greaterThan : undefined;
        if (escaped === undefined) throw new Malformed('a character is not allowed', next);
        this.#replace(next, next + 1, escaped);
        next += 1;
      }
    }
  }

  #commentOrCdata(at: number): number {
    const { bytes } = this.#window;
    const end = bytes.length;
    if (at + 3 >= end) return at;
    if (bytes[at + 2] === 0x2d && bytes[at + 3] === 0x2d) {
      const dashes = bytes.indexOf('--', at + 4);
      if (dashes < 0 || dashes + 2 >= end) return at;
      if (bytes[dashes + 2] !== 0x3e) throw new Malformed('a comment contains --', dashes);
      checkCharacters(bytes, at + 4, dashes);
      this.#writeAside(at, dashes + 3, undefined, true);
      return dashes + 3;
    }
    for (let index = 2; index < cdataStart.length; index += 1) {
      if (at + index >= end) return at;
      if (bytes[at + index] !== cdataStart[index]) throw new Malformed('a declaration is not allowed', at);
    }
    if (this.#depth === 0) throw new Malformed('text outside the root element', at);
    this.#endRun(at, at + cdataStart.length);
    this.#inCdata = true;
    return at + cdataStart.length;
  }

  #instruction(at: number): number {
    const { bytes } = this.#window;
    const close = bytes.indexOf('?>', at + 2);
    if (close < 0) return at;
    let targetEnd = at + 2;
    while (targetEnd < close && nameBytes[bytes[targetEnd] ?? 0] === 1) targetEnd += 1;
    const target = bytes.toString('latin1', at + 2, targetEnd);
    if (nameStartBytes[bytes[at + 2] ?? 0] === 0 || target.includes(':') || (targetEnd < close && !isSpace(bytes[targetEnd])))
      throw new Malformed('a processing instruction has no target', at);
    if (target.toLowerCase() === 'xml') throw new Malformed('a processing instruction has the target xml', at);
    checkCharacters(bytes, targetEnd, close);
    const dataStart = afterSpace(bytes, targetEnd, close);
    const isVerbatim = dataStart === targetEnd || (dataStart === targetEnd + 1 && bytes[targetEnd] === 0x20 && dataStart < close);
    const canonical = isVerbatim
      ? undefined
      : Buffer.concat([
          bytes.subarray(at, targetEnd),
          dataStart < close ? Buffer.from(' ') : Buffer.alloc(0),
          bytes.subarray(dataStart, close + 2),
        ]);
    this.#writeAside(at, close + 2, canonical, false);
    return close + 2;
  }

  /** Writes a comment or a processing instruction; `canonical` instead of what stands there, if it differs. */
  #writeAside(at: number, end: number, canonical: Buffer | undefined, isComment: boolean): void {
    const { bytes } = this.#window;
    const isInside = this.#depth > 0;
    const form = canonical ?? bytes.subarray(at, end);
    const hasReturns = form.includes(0x0d);
    const isKept = !isComment || this.#active.every(({ keepsComments }) => keepsComments);
    if (isInside && canonical === undefined && !hasReturns && isKept) return;
    this.#endRun(at, end);
    const written = hasReturns ? Buffer.from(form.toString('latin1').replace(/\r\n?/g, '\n'), 'latin1') : form;
    for (const { keepsComments, output } of this.#active) {
      if (isComment && !keepsComments) continue;
      if (!isInside && this.#elements > 0) output.byte(0x0a);
      output.bytes(written);
      if (this.#elements === 0) output.byte(0x0a);
    }
  }

  #startTag(at: number): number {
    const { bytes } = this.#window;
    this.#names.trim();
    const tag = this.#tag;
    const depth = this.#depth;
    if (depth === 0 && this.#elements > 0) throw new Malformed('a second root element', at);
    if (!tag.read(bytes, at, bytes.length) || tag.name === undefined) return at;
    const { name } = tag;
    const mark = this.#scope.mark;
    if (this.#declared.length > 0) this.#declared.length = 0;
    for (let index = 0; index < tag.declarations; index += 1) this.#declare(bytes, index);
    this.#resolve(at);
    const isInOrder = tag.putInOrder();
    const around = this.#active;
    const index = this.#elements;
    this.#elements += 1;
    if (name.isWatched || this.#apexes.has(index)) this.#changeParts(name, index, depth, at);
    this.#writeStartTag(at, index, depth, tag.isVerbatim && isInOrder && this.#active === around);
    this.#open[depth] = name;
    this.#marks[depth] = mark;
    this.#activeAround[depth] = around === this.#active ? undefined : around;
    this.#depth = depth + 1;
    if (tag.isEmpty) {
      for (const { output } of this.#active) output.bytes(name.endTag);
      this.#endElement(tag.end);
    }
    return tag.end;
  }

  /** Writes the start tag that was read. `isVerbatim`: it may remain in the run, with declarations behind its name. */
  #writeStartTag(at: number, index: number, depth: number, isVerbatim: boolean): void {
    const tag = this.#tag;
    const { bytes } = this.#window;
    const active = this.#active;
    const isApex = index > 0 && this.#apexes.has(index);
    if (isVerbatim && !isApex) {
      for (let which = 0; which < active.length; which += 1) {
        const part = active[which];
        if (part?.findDeclarations(tag, this.#declared, this.#scope, false, depth) !== true) continue;
        if (this.#runStart < tag.nameEnd) this.#endRun(tag.nameEnd, tag.nameEnd);
        part.writeDeclarations();
      }
      return;
    }
    this.#endRun(at, tag.end);
    for (let which = 0; which < active.length; which += 1) {
      const part = active[which];
      if (part === undefined) continue;
      const isItsApex = isApex && part.apex === index;
      part.findDeclarations(tag, this.#declared, this.#scope, isItsApex, depth);
      const inherits = isItsApex && part.rules !== 'exclusive';
      part.writeStartTag(tag, bytes, inherits ? this.#inherited?.ofApex(depth, part.rules === '1.1' ? '1.1' : '1.0') : undefined);
    }
  }

  #declare(bytes: Buffer, index: number): void {
    const { declared, declaredStarts, declaredEnds } = this.#tag;
    const prefix = declared[index]?.declares;
    const start = declaredStarts[index] ?? 0;
    if (prefix === undefined) return;
    const uri = attributeValue(bytes, start, declaredEnds[index] ?? 0);
    if (this.#scope.declare(prefix, uri, this.#elements, start)) this.#declared.push(prefix);
  }

  /** Checks that all prefixes stand for something, and keeps the attributes that may be inherited. */
  #resolve(at: number): void {
    const tag = this.#tag;
    if (tag.name?.prefix.binding === undefined) throw new Malformed('a prefix is not declared', at);
    if (!tag.hasPrefixedAttributes) return;
    for (let index = 0; index < tag.count; index += 1) {
      const name = tag.names[index];
      if (name === undefined || !name.isPrefixed) continue;
      if (name.prefix.binding === undefined) throw new Malformed('a prefix is not declared', at);
      if (name.prefix.text === 'xml') {
        const value = attributeValue(this.#window.bytes, tag.valueStarts[index] ?? 0, tag.valueEnds[index] ?? 0);
        this.#inherited?.add(this.#depth, name.localName, value);
      }
    }
  }

  /** Begins the parts whose apex an element is, and ends those that leave it out. */
  #changeParts(name: Name, index: number, depth: number, at: number): void {
    for (const part of this.#parts) if (part.leftOutAt === undefined && part.leavesOut(name)) part.leftOutAt = depth;
    const isChanged = this.#active.some(({ leftOutAt }) => leftOutAt === depth);
    const begun = this.#apexes.has(index) ? this.#parts.filter(({ apex, leftOutAt }) => apex === index && leftOutAt === undefined) : [];
    // A part that is not active must be told, too, where the element that it leaves out ends.
    if (!isChanged && begun.length === 0 && !this.#parts.some(({ leftOutAt }) => leftOutAt === depth)) return;
    this.#endRun(at, at);
    this.#active = [...this.#active.filter(({ leftOutAt }) => leftOutAt === undefined), ...begun];
  }

  #endTag(at: number): number {
    const { bytes } = this.#window;
    const end = bytes.length;
    const name = this.#open[this.#depth - 1];
    if (name === undefined) throw new Malformed('an end tag without a start tag', at);
    const nameEnd = at + 2 + name.bytes.length;
    if (nameEnd >= end) {
      if (bytes.indexOf(0x3e, at) >= 0) throw new Malformed('an end tag does not fit its start tag', at);
      return at;
    }
    if (!hasBytes(name.bytes, bytes, at + 2, nameEnd)) throw new Malformed('an end tag does not fit its start tag', at);
    const close = bytes[nameEnd] === 0x3e ? nameEnd : afterSpace(bytes, nameEnd, end);
    if (close >= end) return at;
    if (bytes[close] !== 0x3e) throw new Malformed('an end tag does not fit its start tag', at);
    if (close > nameEnd) {
      this.#endRun(nameEnd, close);
    }
    this.#endElement(close + 1);
    return close + 1;
  }

  /** Ends the element opened last. `end`: the offset behind its end tag. */
  #endElement(end: number): void {
    const depth = this.#depth - 1;
    this.#depth = depth;
    this.#scope.restore(this.#marks[depth] ?? 0);
    this.#inherited?.end(depth);
    for (const part of this.#active) part.endElement(depth);
    const around = this.#activeAround[depth];
    if (around === undefined) return;
    this.#endRun(end, end);
    this.#active = around;
    for (const part of this.#parts) if (part.leftOutAt === depth) part.leftOutAt = undefined;
  }

  /** Writes `bytes` instead of what stands from `start` to `end`; nothing is to be done if that is the same. */
  #replace(start: number, end: number, bytes: Buffer, isSame = false): void {
    if (isSame) return;
    this.#endRun(start, end);
    for (const { output } of this.#active) output.bytes(bytes);
  }

  /** Writes the run up to `end`, and begins the next one at `next`. */
  #endRun(end: number, next: number): void {
    const start = this.#runStart;
    if (end > start) for (const { output } of this.#active) output.copy(this.#window.bytes, start, end);
    this.#runStart = next;
  }
}

/** Returns `end` without `]` before it, as those may be the start of `]]>`; at least `from`. */
function withoutBrackets(bytes: Uint8Array, from: number, end: number): number {
  let last = end;
  while (last > from && last > end - 2 && bytes[last - 1] === 0x5d) last -= 1;
  return last;
}

function checkCharacters(bytes: Uint8Array, start: number, end: number): void {
  for (let at = start; at < end; at += 1) if (textBytes[bytes[at] ?? 0] === 3) throw new Malformed('a character is not allowed', at);
}
