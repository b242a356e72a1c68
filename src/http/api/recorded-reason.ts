import { requestJsonSchema } from '../../fields/long-values.ts';
import { operations } from '../../operations/table.ts';
import { Refusal } from '../../result-codes.ts';

/** Most characters of a reason in the audit log. */
const maxCharacters = 300;

/** What a message quotes, with the escapes of JSON; without an end up to the end of the text. */
const quotation = /"((?:[^"\\]|\\.)*)(?:"|$)/gs;

/**
 * Returns the message of a refusal or an HTTP problem for the audit log: `shown` is what the caller
 * received. Callers choose what messages quote, and the names of unknown fields: a careless one
 * sends a password in such a place. So the record has `…` for whatever a message quotes and for each
 * step of the pointer, unless it is the name of a field of the interface. It is cut to 300 characters.
 */
export function recordedReason(error: unknown, shown: string): string {
  const isTold = error instanceof Refusal && error.code !== 'INTERNAL';
  const text = withoutQuotations(isTold ? (error.recorded ?? error.text) : shown);
  const at = isTold ? knownPointer(error.at ?? '') : '';
  return shortened(at === '' ? text : `${at}: ${text}`);
}

function withoutQuotations(text: string): string {
  return text.replaceAll(quotation, (_, quoted: string) => (fieldNames().has(quoted) ? `"${quoted}"` : '"…"'));
}

/** A JSON Pointer (RFC 6901) in which unknown names are left out. */
function knownPointer(at: string): string {
  const steps = at.split('/').slice(1);
  return steps.map((step) => `/${/^\d{1,9}$/.test(step) || fieldNames().has(step) ? step : '…'}`).join('');
}

function shortened(text: string): string {
  const characters = Array.from(text.toWellFormed());
  return characters.length <= maxCharacters ? characters.join('') : `${characters.slice(0, maxCharacters - 1).join('')}…`;
}

let known: ReadonlySet<string> | undefined;

/** The names of all fields of all operations' requests. */
function fieldNames(): ReadonlySet<string> {
  known ??= new Set(operations.flatMap(({ request }) => propertyNames(requestJsonSchema(request))));
  return known;
}

/** The names of the properties that a JSON Schema describes. */
function propertyNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  if (Array.isArray(schema)) return schema.flatMap(propertyNames);
  return Object.entries(schema).flatMap(([keyword, value]: [string, unknown]) => {
    const names = keyword === 'properties' && typeof value === 'object' && value !== null ? Object.keys(value) : [];
    return [...names, ...propertyNames(value)];
  });
}
