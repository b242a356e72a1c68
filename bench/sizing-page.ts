/** The figures of docs/sizing.md, as tables between marks of the page. */
import type { AuditCost } from './audit-cost.ts';
import type { InstanceFigures } from './instance-figures.ts';
import type { LargePdf } from './sizing-documents.ts';
import type { FormatFigures, Memory } from './sizing-formats.ts';
import type { StoreGrowth } from './sizing-growth.ts';
import type { StateCommits } from './state-commits.ts';

/** Where and when the figures were measured. */
export interface Machine {
  readonly processors: number;
  readonly model: string;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  readonly token: string;
  readonly postgresql: string;
  /** ISO 8601. */
  readonly date: string;
  readonly commit: string;
}

/** Signatures through the token host with a token that takes so long for each. */
export interface TokenFigures {
  readonly threads: number;
  readonly latencyMs: number;
  readonly perSecond: number;
  readonly hostCpuSeconds: number;
}

export interface SizingFigures {
  readonly machine: Machine;
  readonly formats: readonly FormatFigures[];
  readonly memory: Readonly<Record<'started' | 'peak' | 'rested', Memory>>;
  /** Bytes of memory for each byte of an XML document. */
  readonly xmlMemoryTimes: number;
  readonly pdf: LargePdf;
  /** Undefined for a database that is not there. */
  readonly growth: Readonly<Record<'SQLite' | 'PostgreSQL', StoreGrowth | undefined>>;
  /** Bytes on the disk for each byte of a stored document. */
  readonly storedBytesEach: number;
  readonly token: readonly TokenFigures[];
  readonly commits: readonly StateCommits[];
  readonly audit: AuditCost;
  /** Undefined if what takes it is not there. */
  readonly instances: readonly InstanceFigures[] | undefined;
}

const daysPerYear = 365;
/** Requests a day in the table of the audit log. */
const daily = [1000, 10_000, 100_000, 1_000_000];
/** Requests a second in the table of processors. */
const peaks = [10, 50, 200, 1000];
/** Processors are planned to be busy for half of the time. */
const busyShare = 0.5;

const blocks = {
  machine: machineLines,
  requests: requestLines,
  processors: processorLines,
  memory: memoryLines,
  audit: auditLines,
  years: yearLines,
  state: stateLines,
  documents: documentLines,
  token: tokenLines,
  databases: databaseLines,
  instances: instanceLines,
} satisfies Record<string, (figures: SizingFigures) => string[]>;

/** Names of the parts of the page that the bench writes. */
export const blockNames = Object.keys(blocks);

export const beginOf = (name: string): string => `<!-- ${name}: written by npm run bench:sizing -->`;
export const end = '<!-- end -->';

/**
 * Returns the page with the figures between its marks.
 * @throws {Error} if the page does not have each mark once
 */
export function withFigures(page: string, figures: SizingFigures): string {
  return Object.entries(blocks).reduce((text, [name, linesOf]) => {
    const begin = beginOf(name);
    const [before = '', rest, ...more] = text.split(begin);
    if (rest === undefined || more.length > 0 || !rest.includes(end)) throw new Error(`the page has no place for "${name}", or several`);
    return [before + begin, '', ...linesOf(figures), '', rest.slice(rest.indexOf(end))].join('\n');
  }, page);
}

function machineLines({ machine }: SizingFigures): string[] {
  const { processors, model, memoryBytes, system, node, token, postgresql, date, commit } = machine;
  return [
    `- **Machine:** ${processors} processors (${model}), ${(memoryBytes / 1e9).toFixed(0)} GB of memory, ${system}`,
    `- **Software:** Node ${node}, token ${token}, ${postgresql}`,
    `- **Measured:** ${date.slice(0, 10)}, commit ${commit}`,
  ];
}

function requestLines({ formats }: SizingFigures): string[] {
  return table(
    [
      'request',
      'one at a time',
      'processor time',
      'per second and processor',
      'at most, one instance',
      '32 at a time, here',
      'p99 of these',
    ],
    formats.map((one) => [
      ...[one.name, ms(one.aloneP50Ms), ms(one.cpuSeconds * 1000), rate(1 / one.cpuSeconds), rate(1 / one.threadSeconds)],
      ...[`${rate(one.perSecond)}/s`, one.p99Ms === undefined ? '' : ms(one.p99Ms)],
    ]),
  );
}

function processorLines({ formats }: SizingFigures): string[] {
  return table(
    ['request', ...peaks.map((peak) => `${grouped(peak)}/s`)],
    formats.map(({ name, cpuSeconds }) => [name, ...peaks.map((peak) => processorsFor((peak * cpuSeconds) / busyShare))]),
  );
}

function processorsFor(count: number): string {
  return count < 0.1 ? 'below 0.1' : count.toFixed(1);
}

function memoryLines({ memory, xmlMemoryTimes, pdf }: SizingFigures): string[] {
  const row = (name: string, { daemon, host }: Memory): string[] => [name, mebibytes(daemon), mebibytes(host)];
  return [
    ...table(
      ['', 'daemon', 'token host'],
      [
        row('after the start', memory.started),
        row('at most, under these loads', memory.peak),
        row('at rest, after these loads', memory.rested),
        [
          `more for a PDF of ${pdf.megabytes} MB in the transfer store (signed in ${ms(pdf.seconds * 1000)})`,
          mebibytes(Math.max(0, pdf.mebibytesMore)),
          '',
        ],
        ['more for an XML document', `${xmlMemoryTimes.toFixed(1)} times its size`, ''],
      ],
    ),
  ];
}

function auditLines({ formats, audit }: SizingFigures): string[] {
  return [
    ...table(
      ['request', 'audit log', "token host's account"],
      formats.map(({ name, auditBytes, accountBytes }) => [name, bytes(auditBytes), bytes(accountBytes)]),
    ),
    '',
    `A record takes ${Math.max(0, audit.cpuMicroseconds.on - audit.cpuMicroseconds.off).toFixed(0)} µs of processor time; with the log, the service`,
    `makes ${(audit.perSecond.on / audit.perSecond.off).toFixed(2)} of the raw signatures by P-256 that it makes without (${audit.connections} at a time).`,
  ];
}

function yearLines({ formats }: SizingFigures): string[] {
  return table(
    ['request', ...daily.map((count) => `${grouped(count)} a day`)],
    formats
      .filter(({ auditBytes, accountBytes }) => auditBytes + accountBytes >= 1)
      .map(({ name, auditBytes, accountBytes }) => [
        name,
        ...daily.map((count) => `${size(count * daysPerYear * (auditBytes + accountBytes))} a year`),
      ]),
  );
}

function stateLines({ growth }: SizingFigures): string[] {
  const found = Object.entries(growth).flatMap(([name, figures]) => (figures === undefined ? [] : [{ name, ...figures }]));
  const row = (name: string, of: (store: StoreGrowth) => number): string[] => [name, ...found.map((store) => bytes(of(store)))];
  return table(
    ['for each', ...found.map(({ name }) => name)],
    [
      row('key with its certificate', ({ key }) => key),
      row('kept answer with a raw signature', ({ keptRaw }) => keptRaw),
      row('kept answer with a CAdES signature', ({ keptCades }) => keptCades),
    ],
  );
}

function documentLines({ storedBytesEach }: SizingFigures): string[] {
  return [`A document takes ${storedBytesEach.toFixed(2)} times its size on the disk.`];
}

function tokenLines({ token }: SizingFigures): string[] {
  return table(
    ['a signature takes', 'threads', 'T / L', 'measured', 'of T / L', 'processor time of the token host'],
    token.map(({ threads, latencyMs, perSecond, hostCpuSeconds }) => {
      const most = (threads * 1000) / latencyMs;
      return [
        `${latencyMs} ms`,
        String(threads),
        `${rate(most)}/s`,
        `${rate(perSecond)}/s`,
        (perSecond / most).toFixed(2),
        ms(hostCpuSeconds * 1000),
      ];
    }),
  );
}

function databaseLines({ commits }: SizingFigures): string[] {
  return table(
    ['commits a second', ...commits.map(({ name }) => name), ...commits.map(({ name }) => `p99, ${name}`)],
    (commits[0]?.rows ?? []).map(({ writers }, index) => {
      const of = commits.map(({ rows }) => rows[index]);
      const name = `${writers} at a time`;
      return [name, ...of.map((row) => `${rate(row?.perSecond ?? Number.NaN)}/s`), ...of.map((row) => ms(row?.p99Ms ?? Number.NaN))];
    }),
  );
}

function instanceLines({ instances }: SizingFigures): string[] {
  if (instances === undefined) return ['Not measured: the machine had no HAProxy, p11-kit or PostgreSQL.'];
  return table(
    ['raw signatures by P-256', 'one instance', 'one, behind the balancer', 'two', 'two / one'],
    instances.map(({ connections, one, behind, two }) => [
      `${connections} at a time`,
      ...[one, behind, two].map(({ requestsPerSecond }) => `${rate(requestsPerSecond)}/s`),
      (two.requestsPerSecond / one.requestsPerSecond).toFixed(2),
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)];
}

function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** With two significant digits, since a machine's speed varies by more. */
function rate(perSecond: number): string {
  return grouped(Number(perSecond.toPrecision(2)));
}

function ms(value: number): string {
  return `${Number(value.toPrecision(2))} ms`;
}

function mebibytes(value: number): string {
  return `${value.toFixed(0)} MiB`;
}

function bytes(value: number): string {
  return value < 1 ? 'none' : `${grouped(Number(value.toPrecision(2)))} bytes`;
}

function size(value: number): string {
  const [unit, name] = value >= 1e12 ? [1e12, 'TB'] : value >= 1e9 ? [1e9, 'GB'] : [1e6, 'MB'];
  return `${grouped(Number((value / unit).toPrecision(2)))} ${name}`;
}
