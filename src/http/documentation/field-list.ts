import type { Field } from './field-tree.ts';
import { html, type Html } from './html.ts';
import { codeAnchor, inWords } from './words.ts';

/** Objects with at most so many fields in them are shown unfolded. */
const unfoldedMax = 8;
/** Longer lists of values are folded. */
const valuesShownMax = 20;

/** Returns the list of fields, each with those inside it. */
export function fieldList(fields: readonly Field[]): Html {
  if (fields.length === 0) return html`<p class="none">none</p>`;
  return html`<ul class="fields">
    ${fields.map((field) => html`<li data-find>${field.fields.length === 0 ? leaf(field) : branch(field)}</li>`)}
  </ul>`;
}

function leaf(field: Field): Html {
  return html`<div class="field">${head(field)}${meaning(field)}</div>`;
}

function branch(field: Field): Html {
  const { fields } = field;
  const open = count(fields) <= unfoldedMax ? html` open` : '';
  return html`<details${open}>
    <summary><div class="field">${head(field)}${meaning(field)}</div></summary>
    ${choiceNote(fields)}${fieldList(fields)}
  </details>`;
}

/** Says which fields exclude each other, if there are such. */
export function choiceNote(fields: readonly Field[]): Html {
  const choices = fields.filter(({ need }) => need === 'one of').map(({ name }) => name);
  if (choices.length === 0) return html``;
  return html`<p class="note">
    One of these is required: ${choices.map((name, index) => html`${index === 0 ? '' : ', '}<code>${name}</code>`)}.
  </p>`;
}

function head({ name, pointer, type, need }: Field): Html {
  const badge = need === 'optional' ? '' : html` <span class="badge ${need === 'required' ? 'required' : 'choice'}">${need}</span>`;
  return html`<div class="head"><code class="name" title="${pointer}">${name}</code>${badge} <span class="type">${type}</span></div>`;
}

function meaning({ description, limits, values, pointer }: Field): Html {
  return html`<div class="meaning">
    ${inWords(description)} ${limits.length === 0 ? '' : html`<span class="limits">${limits.join('; ')}</span>`}
    ${values.length === 0 ? '' : valueList(values, pointer)}
  </div>`;
}

function valueList(values: readonly (string | number)[], pointer: string): Html {
  const isCode = /\/(?:resultMinor|minorCode)$/.test(pointer);
  const each = values.map((value) => {
    const shown = html`<code>${value}</code>`;
    return isCode ? html`<li><a href="#${codeAnchor(value)}">${shown}</a></li>` : html`<li>${shown}</li>`;
  });
  const list = html`<ul class="values">
    ${each}
  </ul>`;
  if (values.length <= valuesShownMax) return list;
  return html`<details class="long">
    <summary>${values.length} values</summary>
    ${list}
  </details>`;
}

function count(fields: readonly Field[]): number {
  return fields.reduce((sum, field) => sum + 1 + count(field.fields), 0);
}
