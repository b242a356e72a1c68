import type { AuditRecords } from './answers.ts';
import { chip, element, nothing, table, type Child } from './element.ts';
import { ask } from './session.ts';
import { counted, moment, valueText } from './wording.ts';

type Entry = AuditRecords['records'][number];

const isRefusal = (kind: unknown): boolean => kind === 'refused-clients' || kind === 'wrong-secrets';

const shownMax = 100;
const filters: Readonly<Record<string, (entry: Entry) => boolean>> = {
  'requests and operators': ({ kind, uid }) => kind === 'request' || isRefusal(kind) || uid !== undefined,
  requests: ({ kind }) => kind === 'request',
  operators: ({ uid }) => uid !== undefined,
  'not successful': ({ kind, major, status, fault, gap, damaged }) =>
    isRefusal(kind) || (major !== undefined && major !== 0) || [status, fault, gap, damaged].some((member) => member !== undefined),
  'all records': () => true,
};

/** Shows the last records of the audit log, read once. */
export async function auditPage(): Promise<HTMLElement> {
  const { records } = await ask<AuditRecords>('audit');
  const filter = element('select', { id: 'audit-filter' }, ...Object.keys(filters).map((name) => element('option', { value: name }, name)));
  const status = element('p', { role: 'status', class: 'quiet' });
  const results = element('div', { class: 'card' });
  const show = (): void => {
    const wanted = records.filter(filters[filter.value] ?? (() => true));
    const shown = wanted.slice(0, shownMax);
    status.textContent = `${counted(shown.length, 'record')} of the last ${records.length}, the newest first.`;
    results.replaceChildren(shown.length === 0 ? nothing(emptyText(records.length)) : recordTable(shown));
  };
  filter.addEventListener('change', show);
  show();
  return element(
    'div',
    { class: 'stack' },
    element('h1', {}, 'Audit log'),
    element('div', { class: 'field narrow' }, element('label', { for: 'audit-filter' }, 'Show'), filter),
    status,
    results,
    element('p', { class: 'quiet' }, element('code', {}, 'signetctl audit verify'), ' checks that no record was changed.'),
  );
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

function what({ kind, operation, command, reason, changed, count, damaged }: Entry): string {
  if (damaged !== undefined) return `not a record: ${text(damaged)}`;
  if (operation !== undefined) return text(operation);
  if (command !== undefined) return changed === undefined ? text(command) : `${text(command)}, changed: ${text(changed)}`;
  const words = [text(kind).replace('-', ' '), reason === undefined ? '' : text(reason), count === undefined ? '' : `${text(count)} times`];
  return words.filter((word) => word !== '').join(', ');
}

function outcome({ kind, major, minor, status, fault, gap, repeated }: Entry): Child {
  const again = repeated === true ? ' (repeated)' : '';
  if (fault !== undefined) return chip(`not done: ${text(fault)}`, 'bad');
  if (gap !== undefined) return chip(`gap: ${text(gap)}`, 'bad');
  if (status !== undefined) return chip(`HTTP ${text(status)}${again}`, 'warn');
  if (major !== undefined) return chip(`${text(major)}/${text(minor)}${again}`, major === 0 ? 'good' : 'warn');
  return kind === 'administration' ? chip('done', 'good') : '–';
}

function key({ key: reference }: Entry): Child {
  if (typeof reference !== 'string') return '–';
  return element('a', { href: `#keys/${reference}` }, element('code', {}, `${reference.slice(0, 12)}…`));
}

function text(value: unknown): string {
  return value === undefined ? '' : valueText(value);
}
