import type { AuditRecords } from './answers.ts';
import { chip, element, failure, nothing, table, type Child } from './element.ts';
import { ask } from './session.ts';
import { counted, moment, number, valueText } from './wording.ts';

type Entry = AuditRecords['records'][number];

const isRefusal = (kind: unknown): boolean => kind === 'refused-clients' || kind === 'wrong-secrets' || kind === 'outage';

const shownMax = 100;
const filters: Readonly<Record<string, (entry: Entry) => boolean>> = {
  'requests and operators': ({ kind, uid }) => kind === 'request' || isRefusal(kind) || uid !== undefined,
  requests: ({ kind }) => kind === 'request',
  operators: ({ uid }) => uid !== undefined,
  'not successful': ({ kind, major, status, fault, gap, damaged }) =>
    isRefusal(kind) || (major !== undefined && major !== 0) || [status, fault, gap, damaged].some((member) => member !== undefined),
  'all records': () => true,
};

const all = 'all records';

/** Shows the last records of the audit log, and those that are searched for. */
export async function auditPage(): Promise<HTMLElement> {
  const page = new AuditPage();
  await page.showLast();
  return page.node;
}

class AuditPage {
  readonly node: HTMLElement;
  readonly #filter = element(
    'select',
    { id: 'audit-filter' },
    ...Object.keys(filters).map((name) => element('option', { value: name }, name)),
  );
  readonly #status = element('p', { role: 'status', class: 'quiet' });
  readonly #results = element('div', { class: 'stack' });
  readonly #client = textInput('audit-client', '64');
  readonly #id = textInput('audit-id', '128');
  readonly #outcome = textInput('audit-outcome', '7');
  readonly #since = element('input', { id: 'audit-since', type: 'datetime-local', step: '1' });
  readonly #until = element('input', { id: 'audit-until', type: 'datetime-local', step: '1' });
  #records: readonly Entry[] = [];
  #next: number | undefined;
  #isSearch = false;

  constructor() {
    this.#filter.addEventListener('change', () => {
      this.#show();
    });
    this.#outcome.placeholder = 'refused, 2/202, 503';
    const form = element(
      'form',
      { class: 'search audit', role: 'search', 'aria-label': 'Audit records' },
      field('audit-id', 'Request or key', this.#id),
      field('audit-client', 'Client', this.#client),
      field('audit-outcome', 'Outcome', this.#outcome),
      field('audit-since', 'From (UTC)', this.#since),
      field('audit-until', 'Before (UTC)', this.#until),
      element('button', { type: 'submit', class: 'main' }, 'Search'),
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#search(undefined);
    });
    this.node = element(
      'div',
      { class: 'stack' },
      element('h1', {}, 'Audit log'),
      element('div', { class: 'card' }, form),
      element('div', { class: 'field narrow' }, element('label', { for: 'audit-filter' }, 'Show'), this.#filter),
      this.#status,
      this.#results,
      element('p', { class: 'quiet' }, element('code', {}, 'signetctl audit verify'), ' checks that no record was changed.'),
    );
  }

  async showLast(): Promise<void> {
    const { records } = await ask<AuditRecords>('audit');
    this.#take(records, undefined, false);
  }

  /** @param before the record at which an earlier search stopped */
  async #search(before: number | undefined): Promise<void> {
    const query = this.#query();
    if (before !== undefined) query.set('before', String(before));
    this.#status.textContent = 'Searching …';
    try {
      if (query.size === 0) {
        await this.showLast();
        return;
      }
      const { records, next } = await ask<AuditRecords>(`audit?${query.toString()}`);
      if (!this.#isSearch) this.#filter.value = all;
      this.#take(before === undefined ? records : [...this.#records, ...records], next, true);
    } catch (error) {
      this.#status.textContent = '';
      this.#results.replaceChildren(failure(error instanceof Error ? error.message : String(error)));
    }
  }

  #query(): URLSearchParams {
    const id = this.#id.value.trim();
    const members: readonly (readonly [string, string])[] = [
      [/^[0-9a-f]{40}$/i.test(id) ? 'key' : 'request', /^[0-9a-f]{40}$/i.test(id) ? id.toLowerCase() : id],
      ['client', this.#client.value.trim()],
      ['outcome', this.#outcome.value.trim()],
      ['since', instant(this.#since.value)],
      ['until', instant(this.#until.value)],
    ];
    return new URLSearchParams(members.filter(([, value]) => value !== '').map(([name, value]) => [name, value]));
  }

  #take(records: readonly Entry[], next: number | undefined, isSearch: boolean): void {
    this.#records = records;
    this.#next = next;
    this.#isSearch = isSearch;
    this.#show();
  }

  #show(): void {
    const wanted = this.#records.filter(filters[this.#filter.value] ?? (() => true));
    const shown = this.#isSearch ? wanted : wanted.slice(0, shownMax);
    this.#status.textContent = this.#isSearch
      ? foundText(shown.length, this.#next)
      : `${counted(shown.length, 'record')} of the last ${this.#records.length}, the newest first.`;
    const more = element('button', { type: 'button' }, 'Search further');
    more.addEventListener('click', () => {
      void this.#search(this.#next);
    });
    const empty = this.#isSearch ? 'None of these records matches.' : emptyText(this.#records.length);
    this.#results.replaceChildren(
      element('div', { class: 'card' }, shown.length === 0 ? nothing(empty) : recordTable(shown)),
      ...(this.#next === undefined ? [] : [more]),
    );
  }
}

function foundText(count: number, next: number | undefined): string {
  if (next === undefined) return `${counted(count, 'record')} found, the newest first.`;
  return `${counted(count, 'record')} so far, the newest first; the log was searched back to record ${number(next)}.`;
}

/** A time of a field, which is meant in UTC, as RFC 3339 has it. */
function instant(local: string): string {
  if (local === '') return '';
  return `${local.length === 16 ? `${local}:00` : local}Z`;
}

function textInput(id: string, maxlength: string): HTMLInputElement {
  return element('input', { id, type: 'search', autocomplete: 'off', spellcheck: 'false', maxlength });
}

function field(id: string, label: string, control: HTMLElement): HTMLElement {
  return element('div', { class: 'field' }, element('label', { for: id }, label), control);
}

function emptyText(count: number): string {
  return count === 0 ? 'The audit log is switched off.' : 'None of the last records is of this kind.';
}

function recordTable(records: readonly Entry[]): HTMLElement {
  const rows = records.map((entry) => [
    typeof entry['time'] === 'string' ? moment(entry['time']) : '–',
    text(entry['n']),
    who(entry),
    what(entry),
    outcome(entry),
    key(entry),
  ]);
  return table('Audit records', ['Time (UTC)', 'Record', 'Who', 'What', 'Outcome', 'Key'], rows);
}

function who({ client, tenant, uid, via }: Entry): string {
  if (uid !== undefined) return `${uid === 0 ? 'root' : `user ${text(uid)}`}${via === undefined ? '' : ', in the console'}`;
  if (client === undefined) return 'signetd';
  return tenant === undefined ? text(client) : `${text(client)} of ${text(tenant)}`;
}

function what({ kind, operation, command, reason, changed, count, refused, damaged }: Entry): string {
  if (damaged !== undefined) return `not a record: ${text(damaged)}`;
  if (operation !== undefined) return text(operation);
  if (command !== undefined) return changed === undefined ? text(command) : `${text(command)}, changed: ${text(changed)}`;
  const words = [
    text(kind).replace('-', ' '),
    reason === undefined ? '' : text(reason),
    count === undefined ? '' : `${text(count)} times`,
    refused === undefined ? '' : `${text(refused)} requests refused`,
  ];
  return words.filter((word) => word !== '').join(', ');
}

function outcome({ kind, major, minor, status, fault, gap, repeated, reason }: Entry): Child {
  const again = repeated === true ? ' (repeated)' : '';
  if (fault !== undefined) return chip(`not done: ${text(fault)}`, 'bad');
  if (gap !== undefined) return chip(`gap: ${text(gap)}`, 'bad');
  if (status !== undefined) return withReason(chip(`HTTP ${text(status)}${again}`, 'warn'), reason);
  if (major !== undefined) return withReason(chip(`${text(major)}/${text(minor)}${again}`, major === 0 ? 'good' : 'warn'), reason);
  return kind === 'administration' ? chip('done', 'good') : '–';
}

function withReason(result: HTMLElement, reason: unknown): HTMLElement {
  return reason === undefined ? result : element('span', { class: 'reason' }, result, ' ', text(reason));
}

function key({ key: reference }: Entry): Child {
  if (typeof reference !== 'string') return '–';
  return element('a', { href: `#keys/${reference}` }, element('code', {}, `${reference.slice(0, 12)}…`));
}

function text(value: unknown): string {
  return value === undefined ? '' : valueText(value);
}
