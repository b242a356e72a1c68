import type { ConfigurationInForce } from './answers.ts';
import { element } from './element.ts';
import { ask } from './session.ts';
import { valueText } from './wording.ts';

/** Shows the configuration in force, section by section. */
export async function configurationPage(): Promise<HTMLElement> {
  const { path, sections } = await ask<ConfigurationInForce>('configuration');
  const shown = Object.entries(sections).map(([name, value]) =>
    element(
      'details',
      { class: 'card section', open: name === 'listeners' },
      element('summary', {}, name),
      element('pre', {}, lines(value, 0).join('\n')),
    ),
  );
  return element(
    'div',
    { class: 'stack' },
    element('h1', {}, 'Configuration in force'),
    element(
      'p',
      { class: 'quiet' },
      'From ',
      element('code', {}, path),
      ', with defaults. Secrets are hidden; the places that they are read from are not.',
    ),
    ...shown,
  );
}

/** The value as indented lines, in the manner of the file. */
function lines(value: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth);
  const plain = onOneLine(value);
  if (plain !== undefined) return [`${indent}${plain}`];
  if (Array.isArray(value)) {
    return value.flatMap((item: unknown) => {
      const [first = '', ...rest] = lines(item, depth + 1);
      return [`${indent}- ${first.trimStart()}`, ...rest];
    });
  }
  return Object.entries(value ?? {}).flatMap(([name, member]: [string, unknown]) => {
    const text = onOneLine(member);
    return text === undefined ? [`${indent}${name}:`, ...lines(member, depth + 1)] : [`${indent}${name}: ${text}`];
  });
}

/** Returns the text of a value without members of its own; undefined for others. */
function onOneLine(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.some((item) => typeof item === 'object') ? undefined : valueText(value);
  if (typeof value !== 'object' || value === null) return valueText(value);
  return Object.keys(value).length === 0 ? 'none' : undefined;
}
