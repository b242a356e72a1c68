import { serverCpuPerRequest, type Ceiling, type KeyType, type Load } from './native-tools.ts';

/** Loads of one kind of request, in turns with the others. */
export interface Row {
  readonly type: KeyType;
  /** The kind of request, or the bare server. */
  readonly name: string;
  readonly connections: number;
  readonly loads: readonly Load[];
}

/** Resident memory in MiB. */
interface Memory {
  readonly daemon: number;
  readonly host: number;
}

/** One start of the service. */
export interface Start {
  readonly auditBytes: number;
  /** Milliseconds from the first process until it is ready. */
  readonly ms: number;
}

export interface HotPathFigures {
  readonly ceilings: readonly Ceiling[];
  readonly rows: readonly Row[];
  readonly idle: Memory;
  readonly loaded: Memory;
  readonly starts: readonly Start[];
}

/** Goals are shown, not enforced. */
const goals = {
  bareTimes: 6,
  ofBare: 0.25,
  ofC: { 8: 0.55, 32: 0.65 },
  cadesTimes: 1.5,
  largeMs: 1.5,
  idleMebibytes: 150,
  loadedMebibytes: 300,
  readyMs: 2000,
} as const;

const bareName = 'bare HTTPS server';
const columns = ['figure', 'conn.', 'rate', 'of C x2', 'of bare', 'p50', 'p99', 'server CPU each', 'x bare', 'noise', 'errors'];

/** Returns the table and the goals, as lines. Rates and times are medians; noise is their range. */
export function hotPathReport({ ceilings, rows, idle, loaded, starts }: HotPathFigures): string[] {
  const table = [columns, ...ceilings.map(ceilingCells), ...rows.map((row) => cells(row, rows, ceilings))];
  const errors = rows.flatMap(({ name, type, loads }) =>
    loads
      .filter((load) => load.errors > 0)
      .map(({ errors: count, firstError }) => `ERRORS: ${type} ${name}: ${count}; the first: ${firstError}`),
  );
  return [...aligned(table), '', ...goalLines(rows, ceilings), ...memoryLines(idle, loaded), ...starts.map(startLine), ...errors];
}

function ceilingCells({ type, threads, signaturesPerSecond, cpuSecondsPerSignature }: Ceiling): string[] {
  return [
    `${type}, C alone`,
    `${threads} thr.`,
    rate(signaturesPerSecond),
    '',
    '',
    '',
    '',
    microseconds(cpuSecondsPerSignature),
    '',
    '',
    '',
  ];
}

function cells(row: Row, rows: readonly Row[], ceilings: readonly Ceiling[]): string[] {
  const { type, name, connections, loads } = row;
  const rates = loads.map(({ requestsPerSecond }) => requestsPerSecond);
  const isBare = name === bareName;
  return [
    `${type}, ${name}`,
    String(connections),
    rate(rateOf(row)),
    isBare ? '' : ratio(ofC(row, ceilings)),
    isBare ? '' : ratio(ofBare(row, rows, rateOf)),
    milliseconds(median(loads.map(({ p50Milliseconds }) => p50Milliseconds))),
    milliseconds(median(loads.map(({ p99Milliseconds }) => p99Milliseconds))),
    microseconds(cpuOf(row)),
    isBare ? '' : ratio(ofBare(row, rows, cpuOf)),
    `${((100 * (Math.max(...rates) - Math.min(...rates))) / median(rates)).toFixed(0)} %`,
    String(loads.reduce((sum, { errors }) => sum + errors, 0)),
  ];
}

function goalLines(rows: readonly Row[], ceilings: readonly Ceiling[]): string[] {
  const found = (type: KeyType, name: string, connections: number): Row | undefined =>
    rows.find((row) => row.type === type && row.name === name && row.connections === connections);
  const lines: string[] = [];
  const goal = (name: string, now: number | undefined, wanted: string): void => {
    if (now !== undefined) lines.push(`goal: ${name}: ${wanted}; now ${now.toFixed(2)}`);
  };
  const { bareTimes, ofBare: share, ofC: shares, cadesTimes, largeMs } = goals;
  for (const name of ['content', 'digest']) {
    const p256 = found('P-256', name, 32);
    if (p256 !== undefined) {
      goal(`P-256, ${name}, 32 connections, processor time / bare`, ofBare(p256, rows, cpuOf), `at most ${bareTimes}`);
      goal(`P-256, ${name}, 32 connections, rate / bare`, ofBare(p256, rows, rateOf), `at least ${share}`);
    }
    for (const connections of [8, 32] as const) {
      const rsa = found('RSA-2048', name, connections);
      if (rsa !== undefined)
        goal(
          `RSA-2048, ${name}, ${connections} connections, rate / C on two threads`,
          ofC(rsa, ceilings),
          `at least ${shares[connections]}`,
        );
    }
  }
  for (const type of ['P-256', 'RSA-2048'] as const) {
    const [small, cades] = [found(type, 'content', 8), found(type, 'CAdES-B, 1 KB', 8)];
    if (small !== undefined && cades !== undefined)
      goal(`${type}, CAdES-B of 1 KB / bare value, processor time`, cpuOf(cades) / cpuOf(small), `at most ${cadesTimes}`);
  }
  const [small, large] = [found('RSA-2048', 'content', 8), found('RSA-2048', 'CAdES-B, 100 KB', 8)];
  if (small !== undefined && large !== undefined) {
    goal(
      'RSA-2048, CAdES-B of 100 KB beyond a bare value, ms of processor time',
      1000 * (cpuOf(large) - cpuOf(small)),
      `at most ${largeMs}`,
    );
  }
  return lines;
}

function memoryLines(idle: Memory, loaded: Memory): string[] {
  const { idleMebibytes, loadedMebibytes } = goals;
  const shown = ({ daemon, host }: Memory): string => `daemon ${daemon.toFixed(0)} MiB, token host ${host.toFixed(0)} MiB`;
  return [
    `memory at idle: ${shown(idle)} (goal for the daemon ${idleMebibytes}: ${(idle.daemon / idleMebibytes).toFixed(2)})`,
    `memory after the load: ${shown(loaded)} (goal for the daemon ${loadedMebibytes}: ${(loaded.daemon / loadedMebibytes).toFixed(2)})`,
  ];
}

function startLine({ auditBytes, ms }: Start): string {
  const { readyMs } = goals;
  return `start until ready, audit log of ${(auditBytes / 1e6).toFixed(0)} MB: ${ms.toFixed(0)} ms (goal ${readyMs}: ${(ms / readyMs).toFixed(2)})`;
}

function rateOf({ loads }: Row): number {
  return median(loads.map(({ requestsPerSecond }) => requestsPerSecond));
}

function cpuOf({ loads }: Row): number {
  return median(loads.map(serverCpuPerRequest));
}

function ofC(row: Row, ceilings: readonly Ceiling[]): number | undefined {
  const ceiling = ceilings.find(({ type, threads }) => type === row.type && threads === 2);
  return ceiling === undefined ? undefined : rateOf(row) / ceiling.signaturesPerSecond;
}

function ofBare(row: Row, rows: readonly Row[], figure: (row: Row) => number): number | undefined {
  const bare = rows.find(({ type, name, connections }) => type === row.type && name === bareName && connections === row.connections);
  return bare === undefined ? undefined : figure(row) / figure(bare);
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const rate = (perSecond: number): string => `${perSecond.toFixed(0)}/s`;
const ratio = (value: number | undefined): string => value?.toFixed(2) ?? '';
const microseconds = (seconds: number): string => `${(1e6 * seconds).toFixed(0)} us`;
const milliseconds = (value: number): string => `${value.toFixed(2)} ms`;

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
