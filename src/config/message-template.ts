/** Name of a placeholder in a message template. `secret.<name>` is one of the gateway's secrets. */
export type PlaceholderName = 'id' | 'otp' | 'phoneDigits' | 'phoneNumber' | 'text' | `secret.${string}`;

export type TemplatePart = string | { readonly placeholder: PlaceholderName };

const placeholder = /\{\{\s*([A-Za-z0-9.-]+)\s*\}\}/g;
const names = /^(?:id|otp|phoneDigits|phoneNumber|text|secret\.[A-Za-z0-9-]+)$/;

/** Thrown for an unknown placeholder, or one that is not allowed in its place. */
export class TemplateError extends Error {}

/**
 * Parses a template into literal text and placeholders such as `{{text}}`. Inserted values are
 * never parsed, so a value cannot introduce a placeholder.
 * @throws {TemplateError}
 */
export function parseTemplate(template: string, allowed: readonly string[]): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let end = 0;
  for (const match of template.matchAll(placeholder)) {
    pushLiteral(parts, template.slice(end, match.index));
    parts.push({ placeholder: placeholderName(match[1] ?? '', allowed) });
    end = match.index + match[0].length;
  }
  pushLiteral(parts, template.slice(end));
  return parts;
}

/** Returns the placeholders of a template without duplicates. @throws {TemplateError} */
export function placeholdersOf(template: string, allowed: readonly string[]): PlaceholderName[] {
  return [...new Set(parseTemplate(template, allowed).flatMap((part) => (typeof part === 'string' ? [] : [part.placeholder])))];
}

/** Inserts values. `encode` encodes a value for its place. */
export function fillTemplate(
  parts: readonly TemplatePart[],
  values: ReadonlyMap<string, string>,
  encode: (value: string) => string = (value) => value,
): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const value = values.get(part.placeholder);
      if (value === undefined) throw new Error(`no value for {{${part.placeholder}}}`);
      return encode(value);
    })
    .join('');
}

function pushLiteral(parts: TemplatePart[], text: string): void {
  if (text.includes('{{')) throw new TemplateError('"{{" must begin a placeholder such as {{text}}');
  if (text !== '') parts.push(text);
}

function placeholderName(name: string, allowed: readonly string[]): PlaceholderName {
  const isAllowed = allowed.includes(name) || (allowed.includes('secret') && name.startsWith('secret.'));
  if (!isAllowed || !names.test(name)) {
    const supported = allowed.map((one) => (one === 'secret' ? '{{secret.<name>}}' : `{{${one}}}`)).join(', ');
    throw new TemplateError(`{{${name}}} is not allowed here; allowed: ${supported}`);
  }
  // It matches `names`.
  return name as PlaceholderName;
}
