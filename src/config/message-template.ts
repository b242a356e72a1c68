/** What a placeholder of a message template stands for. `secret.<name>` is one of the gateway's own secrets. */
export type PlaceholderName = 'id' | 'otp' | 'phoneDigits' | 'phoneNumber' | 'text' | `secret.${string}`;

export type TemplatePart = string | { readonly placeholder: PlaceholderName };

const placeholder = /\{\{\s*([A-Za-z0-9.-]+)\s*\}\}/g;
const names = /^(?:id|otp|phoneDigits|phoneNumber|text|secret\.[A-Za-z0-9-]+)$/;

/** Something in a template that is no placeholder, or that may not stand there. */
export class TemplateError extends Error {}

/**
 * Takes a template apart: literal text, and placeholders such as `{{text}}`. What is put in later is never looked at again, so no value can bring
 * a placeholder with it.
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

/** The placeholders of a template, each once. @throws {TemplateError} */
export function placeholdersOf(template: string, allowed: readonly string[]): PlaceholderName[] {
  return [...new Set(parseTemplate(template, allowed).flatMap((part) => (typeof part === 'string' ? [] : [part.placeholder])))];
}

/** Puts values in. `encode` makes of a value what may stand in its place. */
export function fillTemplate(
  parts: readonly TemplatePart[],
  values: ReadonlyMap<string, string>,
  encode: (value: string) => string = (value) => value,
): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const value = values.get(part.placeholder);
      if (value === undefined) throw new Error(`nothing stands for {{${part.placeholder}}} here`);
      return encode(value);
    })
    .join('');
}

function pushLiteral(parts: TemplatePart[], text: string): void {
  if (text.includes('{{')) throw new TemplateError('"{{" begins a placeholder such as {{text}}, and here it begins none');
  if (text !== '') parts.push(text);
}

function placeholderName(name: string, allowed: readonly string[]): PlaceholderName {
  const isAllowed = allowed.includes(name) || (allowed.includes('secret') && name.startsWith('secret.'));
  if (!isAllowed || !names.test(name)) {
    const offered = allowed.map((one) => (one === 'secret' ? '{{secret.<name>}}' : `{{${one}}}`)).join(', ');
    throw new TemplateError(`{{${name}}} cannot stand here; ${offered} can`);
  }
  // One of the names that `names` has.
  return name as PlaceholderName;
}
