export type Child = Node | string;
export type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/**
 * Makes an element. Text only ever becomes text, and no attribute runs code or holds style:
 * names of keys and clients are untrusted.
 */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

const svgNamespace = 'http://www.w3.org/2000/svg';

export function svgElement<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(svgNamespace, name);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

function setAttributes(made: Element, attributes: Attributes): void {
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    made.setAttribute(attribute, value === true ? '' : value);
  }
}

/** A word with a colour of its own; the colour never says more than the word. */
export function chip(text: string, tone: 'good' | 'warn' | 'bad' | 'plain'): HTMLElement {
  return element('span', { class: `chip ${tone}${text.length > 24 ? ' long' : ''}` }, text);
}

/** Names and values, one row each. */
export function facts(rows: readonly (readonly [string, Child | readonly Child[]])[]): HTMLElement {
  const list = element('dl', { class: 'facts' });
  for (const [name, value] of rows) {
    const values = Array.isArray(value) ? (value as readonly Child[]) : [value as Child];
    list.append(element('div', {}, element('dt', {}, name), element('dd', {}, ...values)));
  }
  return list;
}

/** A table whose rows become blocks on a narrow screen: each cell then shows its column's name. */
export function table(caption: string, columns: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  const cells = (row: readonly Child[]): HTMLElement[] =>
    row.map((cell, index) => element('td', { 'data-column': columns[index] }, element('span', {}, cell)));
  return element(
    'table',
    {},
    element('caption', { class: 'unseen' }, caption),
    element('thead', {}, element('tr', {}, ...columns.map((column) => element('th', { scope: 'col' }, column)))),
    element('tbody', {}, ...rows.map((row) => element('tr', {}, ...cells(row)))),
  );
}

/** A part of a page with a heading. */
export function card(heading: string, ...children: readonly Child[]): HTMLElement {
  return element('section', { class: 'card' }, element('h2', {}, heading), ...children);
}

/** Says that there is nothing, and what would be there. */
export function nothing(text: string): HTMLElement {
  return element('p', { class: 'nothing' }, text);
}

/** Says that something failed. */
export function failure(text: string): HTMLElement {
  return element('p', { class: 'notice bad', role: 'alert' }, text);
}
