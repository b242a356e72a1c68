/** Columns of an exported record; the members have the same names. */
const columns = [
  'n',
  'time',
  'kind',
  'request',
  'uid',
  'client',
  'tenant',
  'spki',
  'address',
  'operation',
  'command',
  'key',
  'result',
  'status',
  'requestID',
  'digests',
  'fault',
  'reason',
  'count',
  'repeated',
  'replayed',
] as const;

/** The first line: the names of the columns. */
export const csvHeading = `${columns.join(',')}\r\n`;

/**
 * Returns a record as a line of CSV (RFC 4180). `result` is `major/minor`; members with several
 * values are separated by spaces.
 */
export function csvLine(record: Readonly<Record<string, unknown>>): string {
  const { major, minor } = record;
  const values: Readonly<Record<string, unknown>> = {
    ...record,
    result: typeof major === 'number' ? `${major}/${typeof minor === 'number' ? minor : ''}` : undefined,
  };
  return `${columns.map((column) => cell(values[column])).join(',')}\r\n`;
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = Array.isArray(value) ? value.map(String).join(' ') : typeof value === 'string' ? value : JSON.stringify(value);
  // Callers choose some texts: a spreadsheet must not take one for a formula.
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
