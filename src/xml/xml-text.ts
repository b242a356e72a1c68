/**
 * XML as text. It is in ASCII: other characters are written as character references, so that it
 * fits into documents of every encoding.
 */

/** Attributes by qualified name; those that are undefined are left out. */
export type Attributes = Readonly<Record<string, string | undefined>>;

/** Returns an element. `content`: XML, as this function and `characters` return it. */
export function element(name: string, attributes: Attributes, ...content: readonly string[]): string {
  return `${startTag(name, attributes)}${content.join('')}${endTag(name)}`;
}

export function startTag(name: string, attributes: Attributes): string {
  let tag = `<${name}`;
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) tag += ` ${key}="${attributeValue(value)}"`;
  return `${tag}>`;
}

export function endTag(name: string): string {
  return `</${name}>`;
}

/** Returns character data. */
export function characters(text: string): string {
  return text.replaceAll(/[&<>\r]|[^\t\n\x20-\x7e]/gu, reference);
}

function attributeValue(text: string): string {
  return text.replaceAll(/[&<"\t\n\r]|[^\x20-\x7e]/gu, reference);
}

function reference(character: string): string {
  return `&#x${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()};`;
}

/** Checks whether all characters of a text are allowed in XML (XML 1.0 §2.2). */
export function isXmlText(text: string): boolean {
  return /^[\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u.test(text);
}

const nameStart =
  'A-Z_a-z\\xC0-\\xD6\\xD8-\\xF6\\xF8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C-\\u200D\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}';
const ncName = new RegExp(`^[${nameStart}][${nameStart}.\\-0-9\\xB7\\u0300-\\u036F\\u203F-\\u2040]*$`, 'u');

/**
 * Checks whether a text is a name without a colon (Namespaces in XML 1.0, NCName), as Ids and
 * prefixes are.
 */
export function isNcName(text: string): boolean {
  return ncName.test(text);
}
