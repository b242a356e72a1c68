import * as fc from 'fast-check';

/** A random well-formed document, with what a canonicaliser must treat with care. */
export interface RandomDocument {
  readonly xml: string;
  readonly elements: number;
  /** Indexes of elements with an attribute xml:id; its value is `i` and the index. */
  readonly identified: readonly number[];
}

interface ElementPlan {
  readonly prefix: number;
  readonly localName: string;
  readonly declarations: readonly (readonly [prefix: string, uri: string])[];
  readonly attributes: readonly AttributePlan[];
  readonly xmlAttributes: readonly (readonly [localName: string, value: string])[];
  readonly hasId: boolean;
  readonly spaces: readonly string[];
  readonly isEmptyTag: boolean;
  readonly children: readonly (ElementPlan | string)[];
}

interface AttributePlan {
  readonly prefix: number;
  readonly localName: string;
  readonly value: readonly string[];
  readonly quote: '"' | "'";
  readonly equals: string;
}

/** U+FF5A is before U+10437 by code points, and behind it by units of UTF-16. */
const localNames = ['a', 'b', 'c', 'B', 'a-1', 'é', 'ｚ', '𐐷', '_'];
const prefixes = ['', 'p', 'q', 'P', 'ｚ', '𐐷', 'é'];
const uris = ['urn:a', 'urn:b', 'urn:B', 'http://example.org/?a=b', "urn:o'n"];
const spaces = [' ', ' ', ' ', ' ', '  ', '\n', '\t', '\r\n', '\r', ' \r '];
const texts = [
  'x',
  ' ',
  '\n',
  '\r',
  '\r\n',
  '\t',
  'é',
  '𐐷',
  '\u{1f600}',
  '&amp;',
  '&lt;',
  '&gt;',
  '&quot;',
  '&apos;',
  '>',
  '"',
  "'",
  ']',
  ']]',
  '\u{7f}\u{85}',
];
const references = [
  '&#13;',
  '&#xD;',
  '&#10;',
  '&#xA;',
  '&#x9;',
  '&#9;',
  '&#x20;',
  '&#65;',
  '&#x1F600;',
  '&#x0000E9;',
  '&#38;',
  '&#x3c;',
  '&#62;',
  '&#34;',
];

const text = fc
  .array(fc.constantFrom(...texts, ...references), { maxLength: 6 })
  .map((pieces) => pieces.join('').replaceAll(']]>', ']] >'));
const cdata = fc
  .array(fc.constantFrom('x', '<', '>', '&', ']', ']]', '\r', '\r\n', '\n', '<b>', '&amp;', '𐐷', '<!--'), { maxLength: 6 })
  .map((pieces) => `<![CDATA[${pieces.join('').replaceAll(']]>', ']] >')}]]>`);
const comment = fc
  .array(fc.constantFrom('x', ' ', '<', '>', '&', '\r', '\r\n', '\n', ']]>', '𐐷', '<b a="', '?>', '-x'), { maxLength: 5 })
  .map((pieces) => `<!--${pieces.join('')}-->`);
const instruction = fc
  .tuple(
    fc.constantFrom('pi', 'xml-x', 'é', '_'),
    fc.constantFrom('', ' ', '  ', '\t', '\r\n', '\n'),
    fc.array(fc.constantFrom('x', ' ', '<', '>', '&amp;', '"', '\r', '\r\n', '\n', '?', '-->', '𐐷'), { maxLength: 4 }),
  )
  .map(([target, space, data]) => `<?${target}${space === '' ? '' : space + data.join('').replaceAll('?>', '? >')}?>`);

const attribute: fc.Arbitrary<AttributePlan> = fc.record({
  prefix: fc.nat(6),
  localName: fc.constantFrom(...localNames),
  value: fc.array(fc.constantFrom(...texts, ...references), { maxLength: 4 }),
  quote: fc.constantFrom('"', "'"),
  equals: fc.constantFrom('=', '=', '=', ' = ', '=\n'),
});

/**
 * Deep, so that no `../` leads above the root of a path: there, libxml2 joins in another way than
 * Canonical XML 1.1.
 */
const deepPath = '/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/';
const bases = [`http://example.org${deepPath}`, `http://example.org${deepPath}b`, `${deepPath}c`, 'd/', 'e/f', '../g', '../../h/', 'k?l'];

const xmlAttribute = fc.oneof(
  fc.tuple(fc.constant('lang'), fc.constantFrom('en', 'fr', '')),
  fc.tuple(fc.constant('space'), fc.constantFrom('default', 'preserve')),
  fc.tuple(fc.constant('base'), fc.constantFrom(...bases)),
  fc.tuple(fc.constant('other'), fc.constantFrom('1', '&#xA;&quot;')),
);

const { element } = fc.letrec<{ element: ElementPlan; child: ElementPlan | string }>((tie) => ({
  element: fc.record({
    prefix: fc.nat(6),
    localName: fc.constantFrom(...localNames),
    declarations: fc.array(fc.tuple(fc.constantFrom(...prefixes), fc.constantFrom(...uris, '')), { maxLength: 3 }),
    attributes: fc.array(attribute, { maxLength: 4 }),
    xmlAttributes: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(xmlAttribute, { maxLength: 3 })),
    hasId: fc.boolean(),
    spaces: fc.array(fc.constantFrom(...spaces), { minLength: 1, maxLength: 3 }),
    isEmptyTag: fc.boolean(),
    children: fc.array(tie('child'), { maxLength: 5 }),
  }),
  child: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 3, arbitrary: text },
    { weight: 1, arbitrary: cdata },
    { weight: 1, arbitrary: comment },
    { weight: 1, arbitrary: instruction },
    { weight: 6, arbitrary: tie('element') },
  ),
}));

const outside = fc
  .array(fc.oneof(comment, instruction, fc.constantFrom('\n', ' ', '\r\n')), { maxLength: 3 })
  .map((pieces) => pieces.join(''));

export const randomDocument: fc.Arbitrary<RandomDocument> = fc
  .record({
    start: fc.constantFrom(
      '',
      '\u{feff}',
      '<?xml version="1.0"?>',
      '<?xml version="1.0" encoding="UTF-8"?>\r\n',
      "\u{feff}<?xml version='1.0'?>",
    ),
    before: outside,
    root: element,
    behind: outside,
  })
  .map(({ start, before, root, behind }) => {
    const writer = new DocumentWriter();
    const xml = start + before + writer.element(root, new Map()) + behind;
    return { xml, elements: writer.elements, identified: writer.identified };
  });

/** Writes a plan so that prefixes are declared and attributes are different. */
class DocumentWriter {
  elements = 0;
  readonly identified: number[] = [];

  element(plan: ElementPlan, around: ReadonlyMap<string, string>): string {
    const index = this.elements;
    this.elements += 1;
    const declarations = new Map(plan.declarations.filter(([prefix, uri]) => prefix === '' || uri !== ''));
    const scope = new Map([...around, ...declarations]);
    // Names that are expanded to the same must not occur twice.
    const attributes = new Map<string, string>();
    for (const [prefix, uri] of declarations) attributes.set(`xmlns ${prefix}`, `${prefix === '' ? 'xmlns' : `xmlns:${prefix}`}="${uri}"`);
    for (const { prefix, localName, value, quote, equals } of plan.attributes) {
      const chosen = this.#prefix(prefix, scope);
      const escaped = value.join('').replaceAll(quote, 'q');
      attributes.set(
        `${chosen === '' ? '' : scope.get(chosen)} ${localName}`,
        `${chosen === '' ? '' : `${chosen}:`}${localName}${equals}${quote}${escaped}${quote}`,
      );
    }
    for (const [localName, value] of plan.xmlAttributes) attributes.set(`xml ${localName}`, `xml:${localName}="${value}"`);
    if (plan.hasId) {
      attributes.set('xml id', `xml:id="i${index}"`);
      this.identified.push(index);
    }
    const space = (at: number): string => plan.spaces[at % plan.spaces.length] ?? ' ';
    const chosen = this.#prefix(plan.prefix, scope);
    const name = `${chosen === '' ? '' : `${chosen}:`}${plan.localName}`;
    const tag = [name, ...[...attributes.values()].map((written, at) => space(at) + written)].join('');
    let content = '';
    for (const child of plan.children) {
      const written = typeof child === 'string' ? child : this.element(child, scope);
      // Texts that follow each other must not become ]]> together.
      content += content.endsWith(']') && /^[\]>]/.test(written) ? ` ${written}` : written;
    }
    const end = plan.spaces.length > 1 ? space(1) : '';
    return content === '' && plan.isEmptyTag ? `<${tag}${end}/>` : `<${tag}${end}>${content}</${name}${end}>`;
  }

  #prefix(choice: number, scope: ReadonlyMap<string, string>): string {
    const usable = ['', ...[...scope.keys()].filter((prefix) => prefix !== '')];
    return usable[choice % usable.length] ?? '';
  }
}
