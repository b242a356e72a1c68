import { pick, type RandomNumber } from './random-choice.ts';

const algorithms = [
  'http://www.w3.org/2000/09/xmldsig#sha1',
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-md5',
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256',
  'http://www.w3.org/2000/09/xmldsig#hmac-sha1',
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  'http://www.w3.org/2000/09/xmldsig#base64',
  'http://www.w3.org/TR/1999/REC-xpath-19991116',
  'http://www.w3.org/2002/06/xmldsig-filter2',
  'http://www.w3.org/TR/1999/REC-xslt-19991116',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
  'urn:other',
];
const values = ['', '#', '#x', '#xpointer(/)', "#xpointer(id('x'))", '#s-1', '../a', '\u0001', 'é', '1', ...algorithms];
const expressions = [
  'true()',
  'false()',
  '//*[count(//*[count(//*) > 0]) > 0]',
  'string-length(translate(string(/),"a","b"))>=0',
  'not(ancestor-or-self::*)',
  'contains(concat(string(/),string(/),string(/)), "zz")',
  'count(ancestor-or-self::node() | //@*) > 3',
  '//*[',
  '',
];
const xpath = (expression: string): string =>
  `<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>${expression.replaceAll('"', '&quot;').replaceAll('>', '&gt;')}</ds:XPath></ds:Transform>`;
const elementPattern = /<([\w:-]+)(?:\s[^<>]*)?>/g;
const attributePattern = /[\w:-]+="[^"<]*"/g;
const sizeMax = 500_000;

/**
 * Returns the document with one to three changes: elements move, double, vanish or get many twins,
 * attributes and expressions change; sometimes single characters change, too.
 */
export function changedXml(xml: string, random: RandomNumber): string {
  let text = xml;
  for (let count = 1 + Math.floor(random() * 3); count > 0; count -= 1) text = changedOnce(text, random);
  return text.length > sizeMax ? xml : text;
}

function changedOnce(text: string, random: RandomNumber): string {
  const kind = Math.floor(random() * 10);
  const [start, end] = element(text, random);
  const [otherStart, otherEnd] = element(text, random);
  const one = text.slice(start, end);
  if (kind === 0) return text.slice(0, start) + text.slice(end);
  if (kind === 1) return text.slice(0, end) + one + text.slice(end);
  if (kind === 2) return text.slice(0, start) + text.slice(otherStart, otherEnd) + text.slice(end);
  if (kind === 3) return text.slice(0, otherStart) + one + text.slice(otherStart);
  if (kind === 4) return text.slice(0, end) + one.repeat(Math.floor(random() ** 3 * 200)) + text.slice(end);
  if (kind === 5) return text.slice(0, start) + `<w>${one}</w>` + text.slice(end);
  if (kind === 6) return replaced(text, attributePattern, random, (found) => `${found.split('=')[0]}="${pick(values, random)}"`);
  if (kind === 7)
    return replaced(
      text,
      /<ds:Transforms>/g,
      random,
      (found) => found + xpath(pick(expressions, random)).repeat(1 + Math.floor(random() * 3)),
    );
  if (kind === 8)
    return replaced(text, /(?<=>)[^<>]+(?=<)/g, random, () =>
      pick([...expressions.slice(0, 2), 'AAAA', '====', '123456789'.repeat(900), ''], random),
    );
  const at = Math.floor(random() * text.length);
  return (
    text.slice(0, at) +
    pick(['<', '&', '"', ' ', '\u0000', 'x', '<!--', ']]>', '<?p?>', '&#10;'], random) +
    text.slice(at + Math.floor(random() * 3))
  );
}

/** Returns where a random element starts and ends. */
function element(text: string, random: RandomNumber): readonly [number, number] {
  const starts = [...text.matchAll(elementPattern)];
  const found = starts[Math.floor(random() * starts.length)];
  if (found === undefined) return [0, 0];
  const from = found.index;
  if (found[0].endsWith('/>')) return [from, from + found[0].length];
  const name = found[1] ?? '';
  let depth = 0;
  for (const tag of text.slice(from).matchAll(/<(\/?)([\w:-]+)(?:\s[^<>]*)?>/g)) {
    if (tag[2] !== name || tag[0].endsWith('/>')) continue;
    depth += tag[1] === '/' ? -1 : 1;
    if (depth === 0) return [from, from + tag.index + tag[0].length];
  }
  return [from, from + found[0].length];
}

function replaced(text: string, pattern: RegExp, random: RandomNumber, by: (found: string) => string): string {
  const found = [...text.matchAll(pattern)];
  const match = found[Math.floor(random() * found.length)];
  return match === undefined ? text : text.slice(0, match.index) + by(match[0]) + text.slice(match.index + match[0].length);
}
