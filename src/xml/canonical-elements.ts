import { attributeValue } from './attribute-value.ts';
import type { PartInProgress } from './canonical-part.ts';
import type { CanonicalRun } from './canonical-run.ts';
import { InheritedAttributes } from './inherited-attributes.ts';
import { afterSpace, hasBytes, Malformed } from './markup-bytes.ts';
import { NameTable, type Name } from './name-table.ts';
import { NamespaceScope, type Prefix } from './namespace-scope.ts';
import type { PieceWindow } from './piece-window.ts';
import { StartTag } from './start-tag.ts';

/**
 * Reads the tags of a document, and decides which parts are active. Each method that reads takes
 * the offset of a tag, and returns the offset behind it: the same one if the tag extends beyond the
 * window.
 */
export class CanonicalElements {
  readonly #window: PieceWindow;
  readonly #parts: readonly PartInProgress[];
  readonly #run: CanonicalRun;
  readonly #scope = new NamespaceScope();
  readonly #names: NameTable;
  readonly #tag: StartTag;
  /** Undefined if no part inherits attributes. */
  readonly #inherited: InheritedAttributes | undefined;
  readonly #apexes: ReadonlySet<number>;
  /**
   * Of the open elements: names, marks of the scope, and the active parts around them if those
   * differ.
   */
  readonly #open: Name[] = [];
  readonly #marks: number[] = [];
  readonly #activeAround: (readonly PartInProgress[] | undefined)[] = [];
  /** Prefixes that stand for something else in the element that begins than around it. */
  readonly #declared: Prefix[] = [];
  /** Elements that have begun. */
  count = 0;
  /** Elements that are open. */
  depth = 0;

  constructor(window: PieceWindow, parts: readonly PartInProgress[], run: CanonicalRun) {
    this.#window = window;
    this.#parts = parts;
    this.#run = run;
    this.#apexes = new Set(parts.flatMap(({ apex }) => (apex === undefined ? [] : [apex])));
    this.#names = new NameTable(this.#scope, new Set(parts.flatMap(({ watched }) => watched)));
    this.#tag = new StartTag(this.#names);
    const inherits = parts.some(({ apex, rules }) => apex !== undefined && apex > 0 && rules !== 'exclusive');
    this.#inherited = inherits ? new InheritedAttributes() : undefined;
  }

  startTag(at: number): number {
    const { bytes } = this.#window;
    this.#names.trim();
    const tag = this.#tag;
    const depth = this.depth;
    if (depth === 0 && this.count > 0) throw new Malformed('a second root element', at);
    if (!tag.read(bytes, at, bytes.length) || tag.name === undefined) return at;
    const { name } = tag;
    const mark = this.#scope.mark;
    if (this.#declared.length > 0) this.#declared.length = 0;
    for (let index = 0; index < tag.declarations; index += 1) this.#declare(bytes, index);
    this.#resolve(at);
    const isInOrder = tag.putInOrder();
    const around = this.#run.active;
    const index = this.count;
    this.count += 1;
    if (name.isWatched || this.#apexes.has(index)) this.#changeParts(name, index, depth, at);
    this.#writeStartTag(at, index, depth, tag.isVerbatim && isInOrder && this.#run.active === around);
    this.#open[depth] = name;
    this.#marks[depth] = mark;
    this.#activeAround[depth] = around === this.#run.active ? undefined : around;
    this.depth = depth + 1;
    if (tag.isEmpty) {
      for (const { output } of this.#run.active) output.bytes(name.endTag);
      this.#endElement(tag.end);
    }
    return tag.end;
  }

  /**
   * Writes the start tag that was read. `isVerbatim`: it may remain in the run, with declarations
   * behind its name.
   */
  #writeStartTag(at: number, index: number, depth: number, isVerbatim: boolean): void {
    const tag = this.#tag;
    const { bytes } = this.#window;
    const active = this.#run.active;
    const isApex = index > 0 && this.#apexes.has(index);
    if (isVerbatim && !isApex) {
      for (let which = 0; which < active.length; which += 1) {
        const part = active[which];
        if (part?.findDeclarations(tag, this.#declared, this.#scope, false, depth) !== true) continue;
        if (this.#run.start < tag.nameEnd) this.#run.end(tag.nameEnd, tag.nameEnd);
        part.writeDeclarations();
      }
      return;
    }
    this.#run.end(at, tag.end);
    for (let which = 0; which < active.length; which += 1) {
      const part = active[which];
      if (part === undefined) continue;
      const isItsApex = isApex && part.apex === index;
      part.findDeclarations(tag, this.#declared, this.#scope, isItsApex, depth);
      const { rules } = part;
      const xmlAttributes = isItsApex && rules !== 'exclusive' ? this.#inherited?.ofApex(depth, rules, at) : undefined;
      part.writeStartTag(tag, bytes, xmlAttributes);
    }
  }

  #declare(bytes: Buffer, index: number): void {
    const { declared, declaredStarts, declaredEnds } = this.#tag;
    const prefix = declared[index]?.declares;
    const start = declaredStarts[index] ?? 0;
    if (prefix === undefined) return;
    const uri = attributeValue(bytes, start, declaredEnds[index] ?? 0);
    if (this.#scope.declare(prefix, uri, this.count, start)) this.#declared.push(prefix);
  }

  /**
   * Checks that all prefixes stand for something, and keeps the attributes that may be inherited.
   */
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
        this.#inherited?.add(this.depth, name.localName, value);
      }
    }
  }

  /** Begins the parts whose apex an element is, and ends those that leave it out. */
  #changeParts(name: Name, index: number, depth: number, at: number): void {
    for (const part of this.#parts) if (part.leftOutAt === undefined && part.leavesOut(name)) part.leftOutAt = depth;
    const begun = this.#apexes.has(index) ? this.#parts.filter(({ apex, leftOutAt }) => apex === index && leftOutAt === undefined) : [];
    // A part that is not active must be told, too, where the element that it leaves out ends.
    if (begun.length === 0 && !this.#parts.some(({ leftOutAt }) => leftOutAt === depth)) return;
    this.#run.end(at, at);
    this.#run.active = [...this.#run.active.filter(({ leftOutAt }) => leftOutAt === undefined), ...begun];
  }

  endTag(at: number): number {
    const { bytes } = this.#window;
    const end = bytes.length;
    const name = this.#open[this.depth - 1];
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
    if (close > nameEnd) this.#run.end(nameEnd, close);
    this.#endElement(close + 1);
    return close + 1;
  }

  /** Ends the element opened last. `end`: the offset behind its end tag. */
  #endElement(end: number): void {
    const depth = this.depth - 1;
    this.depth = depth;
    this.#scope.restore(this.#marks[depth] ?? 0);
    this.#inherited?.end(depth);
    const { active } = this.#run;
    for (let index = 0; index < active.length; index += 1) active[index]?.endElement(depth);
    const around = this.#activeAround[depth];
    if (around === undefined) return;
    this.#run.end(end, end);
    this.#run.active = around;
    for (const part of this.#parts) if (part.leftOutAt === depth) part.leftOutAt = undefined;
  }
}
