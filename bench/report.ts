import { serverCpuPerRequest, type Ceiling, type KeyType, type Load } from './native-tools.ts';

/** Measurements with one type of key; without a ceiling if SoftHSM is not installed. */
export interface Measured {
  readonly type: KeyType;
  readonly ceiling: Ceiling | undefined;
  readonly loads: readonly Load[];
}

/** Goals are shown, not enforced. */
const goals = { 'RSA-2048': { share: 0.65, limit: 'C' }, 'P-256': { share: 0.5, limit: 'bare' } } as const;

const columns = ['figure', 'value', 'of C', 'of bare', 'p50', 'p99', 'max', 'errors', 'load CPU', 'server CPU each'];

/** Returns the table and the derived figures, as lines. */
export function report(measured: readonly Measured[], bare: readonly Load[]): string[] {
  const rows = [columns];
  for (const { type, ceiling } of measured) {
    if (ceiling === undefined) continue;
    const cells = ['1.00', '', '', '', '', '', '', microseconds(ceiling.cpuSecondsPerSignature)];
    rows.push([`${type}, C alone, ${ceiling.threads} threads`, rate(ceiling.signaturesPerSecond), ...cells]);
  }
  for (const load of bare) rows.push(loadRow('bare HTTPS server', load, '', '1.00'));
  for (const { type, ceiling, loads } of measured) {
    for (const load of loads) rows.push(loadRow(`signetd ${type}`, load, ofCeiling(load, ceiling), ofBare(load, bare)));
  }
  const errors = [...bare, ...measured.flatMap(({ loads }) => loads)].filter((load) => load.errors > 0);
  return [
    ...aligned(rows),
    '',
    ...measured.map((one) => goalLine(one, bare)),
    ...measured.flatMap((one) => overheadLines(one, bare)),
    ...errors.map(
      ({ connections, errors: count, firstError }) => `ERRORS: ${count} with ${connections} connections; the first: ${firstError}`,
    ),
  ];
}

function loadRow(name: string, load: Load, ofC: string, ofBareServer: string): string[] {
  const { requestsPerSecond, p50Milliseconds, p99Milliseconds, maxMilliseconds, errors, cpuSeconds, cpuSecondsPerRequest, seconds } = load;
  const latencies = [p50Milliseconds, p99Milliseconds, maxMilliseconds].map((value) => `${value.toFixed(2)} ms`);
  const share = `${(cpuSeconds / seconds).toFixed(2)} s/s, ${percent(cpuSeconds / seconds)}, ${microseconds(cpuSecondsPerRequest)} each`;
  return [
    `${name}, ${connectionsOf(load)}`,
    rate(requestsPerSecond),
    ofC,
    ofBareServer,
    ...latencies,
    String(errors),
    share,
    microseconds(serverCpuPerRequest(load)),
  ];
}

function goalLine({ type, ceiling, loads }: Measured, bare: readonly Load[]): string {
  const { share, limit } = goals[type];
  const best = loads.toSorted((left, right) => right.requestsPerSecond - left.requestsPerSecond)[0];
  const reached = best === undefined ? '' : limit === 'C' ? ofCeiling(best, ceiling) : ofBare(best, bare);
  const at = best === undefined ? '' : ` with ${connectionsOf(best)}`;
  return `goal, ${type}: at least ${share.toFixed(2)} of ${limit === 'C' ? 'C alone' : 'the bare server'}; now ${reached || 'unknown'}${at}`;
}

/** CPU time that signetd adds to the token's own work, relative to a bare request in Node. */
function overheadLines({ type, ceiling, loads }: Measured, bare: readonly Load[]): string[] {
  if (ceiling === undefined) return [];
  return loads.flatMap((load) => {
    const same = sameConnections(load, bare);
    if (same === undefined) return [];
    const added = serverCpuPerRequest(load) - ceiling.cpuSecondsPerSignature;
    const ratio = (added / serverCpuPerRequest(same)).toFixed(2);
    return [`(signetd CPU - C CPU) / bare server CPU, ${type}, ${connectionsOf(load)}: ${microseconds(added)}, ${ratio}`];
  });
}

function connectionsOf({ connections }: Load): string {
  return `${connections} connection${connections === 1 ? '' : 's'}`;
}

function sameConnections(load: Load, bare: readonly Load[]): Load | undefined {
  return bare.find(({ connections }) => connections === load.connections);
}

function ofCeiling(load: Load, ceiling: Ceiling | undefined): string {
  return ceiling === undefined ? '' : (load.requestsPerSecond / ceiling.signaturesPerSecond).toFixed(2);
}

function ofBare(load: Load, bare: readonly Load[]): string {
  const same = sameConnections(load, bare);
  return same === undefined ? '' : (load.requestsPerSecond / same.requestsPerSecond).toFixed(2);
}

const rate = (perSecond: number): string => `${perSecond.toFixed(0)}/s`;
const percent = (share: number): string => `${(100 * share).toFixed(0)} % of a core`;
const microseconds = (seconds: number): string => `${(1e6 * seconds).toFixed(0)} us`;

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '),
  );
}
