import { resultCodes } from '../../result-codes.ts';
import { html, type Html } from './html.ts';

const minors: ReadonlySet<string> = new Set(Object.values(resultCodes).map(({ minor }) => String(minor)));

/** Returns the anchor of a result code. */
export function codeAnchor(minor: number | string): string {
  return `code-${minor}`;
}

/** Returns the anchor of an HTTP status. */
export function statusAnchor(status: string): string {
  return `status-${status}`;
}

/** Returns a text as markup: `code` in it is set as such, and result codes lead to their rows. */
export function inWords(text: string): readonly Html[] {
  return text.split('`').flatMap((part, index) => (index % 2 === 1 ? [html`<code>${part}</code>`] : linked(part)));
}

function linked(text: string): readonly Html[] {
  return text
    .split(/\b([12]\/\d{3})\b/)
    .map((part, index) =>
      index % 2 === 1 && minors.has(part.slice(2)) ? html`<a href="#${codeAnchor(part.slice(2))}">${part}</a>` : html`${part}`,
    );
}
