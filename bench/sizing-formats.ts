import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writePdf } from './pdf-file.ts';
import { publicWorks, type PublicWork } from './public-requests.ts';
import { plainLoad, rateOf, type PlainLoad } from './plain-load.ts';
import { ServiceClient, type Reference } from './service-client.ts';
import { cpuSecondsOf, daemonThreadSeconds, residentMebibytesByPart, signetdPids } from './signetd-processes.ts';
import { works2DDoc } from './two-d-doc.ts';
import { loadOf, type Place, type Work } from './work.ts';

const connections = 32;
const warmUpSeconds = 2;
const loadSeconds = 4;
const aloneSeconds = 2;
const sampleMs = 100;
/** Longer than records wait until they are written together. */
const writtenMs = 500;
const pdfBytes = 100_000;

const levels = { B: {}, T: { timeStamp: {} }, LT: { timeStamp: {}, longTermValidation: {} } } as const;
const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<invoice xmlns="urn:example:invoice">${'<line nr="7">Twelve screws, 5 mm</line>'.repeat(25)}</invoice>\n`;

/** What a service takes for a request, or for all of a load. */
interface Spent {
  /** Processor time of the daemon and the token host together. */
  readonly cpuSeconds: number;
  /** Processor time of the busiest thread of the daemon. */
  readonly threadSeconds: number;
  readonly auditBytes: number;
  /** Of the token host's account. */
  readonly accountBytes: number;
}

/** What one kind of request costs, each. */
export interface FormatFigures extends Spent {
  readonly name: string;
  /** With 32 connections, beside the load generator on the same machine. */
  readonly perSecond: number;
  /** With 32 connections; undefined if the load generator does not tell it. */
  readonly p99Ms: number | undefined;
  /** With one connection. */
  readonly aloneP50Ms: number;
}

/** Resident memory, in MiB. */
export interface Memory {
  readonly daemon: number;
  readonly host: number;
}

/** The bytes of the files of a directory whose names begin and end so. */
function bytesIn(directory: string, begin: string): number {
  return readdirSync(directory)
    .filter((name) => name.startsWith(begin) && name.endsWith('.jsonl'))
    .reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

/** What a service writes, and the memory that it takes, while it is measured. */
export class Watch {
  readonly #service: string;
  #peak: Memory;

  constructor(service: string) {
    this.#service = service;
    this.#peak = residentMebibytesByPart(service);
  }

  get peak(): Memory {
    return this.#peak;
  }

  async during<T>(work: () => Promise<T>): Promise<{ readonly value: T } & Spent> {
    const sampling = setInterval(() => {
      const { daemon, host } = residentMebibytesByPart(this.#service);
      this.#peak = { daemon: Math.max(daemon, this.#peak.daemon), host: Math.max(host, this.#peak.host) };
    }, sampleMs);
    try {
      const [before, threads] = [this.#taken(), daemonThreadSeconds(this.#service)];
      const value = await work();
      await delay(writtenMs);
      const after = this.#taken();
      const grown = Array.from(daemonThreadSeconds(this.#service), ([thread, seconds]) => seconds - (threads.get(thread) ?? 0));
      return {
        value,
        cpuSeconds: after.cpuSeconds - before.cpuSeconds,
        threadSeconds: Math.max(...grown),
        auditBytes: after.auditBytes - before.auditBytes,
        accountBytes: after.accountBytes - before.accountBytes,
      };
    } finally {
      clearInterval(sampling);
    }
  }

  #taken(): Omit<Spent, 'threadSeconds'> {
    return {
      cpuSeconds: cpuSecondsOf(signetdPids(this.#service)),
      auditBytes: bytesIn(join(this.#service, 'audit'), 'audit-'),
      accountBytes: bytesIn(join(this.#service, 'token-account'), 'account-'),
    };
  }
}

/** Measures each kind of request, one after the other. */
export async function formatFigures(place: Required<Place>, watch: Watch, say: (line: string) => void): Promise<FormatFigures[]> {
  const { quickstart } = place;
  const [rsa, ec] = [new ServiceClient(quickstart, quickstart.clients.app), new ServiceClient(quickstart, quickstart.clients.other)];
  const [rsaKey, ecKey] = [await rsa.createKey(), await ec.createKey()];
  const figures: FormatFigures[] = [];
  for (const work of [...signatureWorks(place, { rsa, rsaKey, ec, ecKey }), ...(await codeWorks(place))]) {
    say(work.name);
    figures.push(await measured(place, watch, work));
  }
  for (const work of await publicWorks(quickstart)) {
    say(work.name);
    figures.push(await measuredPublic(place, watch, work));
  }
  await rsa.removeKey(rsaKey);
  await ec.removeKey(ecKey);
  return figures;
}

interface Signers {
  readonly rsa: ServiceClient;
  readonly rsaKey: Reference;
  readonly ec: ServiceClient;
  readonly ecKey: Reference;
}

function signatureWorks({ quickstart: { signRoot }, scratch }: Place, { rsa, rsaKey, ec, ecKey }: Signers): Work[] {
  const pdf = join(scratch, 'small.pdf');
  writePdf(pdf, pdfBytes);
  const [small, document] = [randomBytes(768), readFileSync(pdf)];
  const work = (name: string, content: Buffer, parameters: object, key = ecKey, { client } = ec): Work => ({
    ...{ name, client, path: `${signRoot}/signature/sign`, expected: '"resultMajor":0' },
    body: { keyReference: key, parameters, inputDocuments: [{ ID: 'd', base64Data: { base64Value: content.toString('base64') } }] },
  });
  const atLevels = (name: string, content: Buffer, format: object): Work[] =>
    Object.entries(levels).map(([level, members]) => work(`${name}, level ${level}`, content, { XP7Signature: { ...format, ...members } }));
  return [
    work('raw signature, RSA-2048', small, { rawSignature: {} }, rsaKey, rsa),
    work('raw signature, P-256', small, { rawSignature: {} }),
    ...atLevels('CAdES of 1 KB', small, { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } }),
    ...atLevels('XAdES of 1 KB', Buffer.from(xml), { XP7Format: 'EXXP_7' }),
    ...atLevels('PAdES of 100 KB', document, { XP7Format: 'PXP_7' }),
  ];
}

async function codeWorks({ quickstart }: Place): Promise<readonly Work[]> {
  const { doc2dRoot, twoDDoc } = quickstart;
  if (doc2dRoot === undefined || twoDDoc === undefined) throw new Error('the quickstart has no 2D-Doc');
  const works = await works2DDoc(quickstart, `${doc2dRoot}/creator`, twoDDoc);
  return works.filter(({ name }) => name.endsWith('with signing')).map((work) => ({ ...work, name: '2D-Doc, signed, as a picture' }));
}

async function measured(place: Place, watch: Watch, work: Work): Promise<FormatFigures> {
  await loadOf(place, work, { connections, seconds: warmUpSeconds, warmup: 0 });
  const { value: load, ...spent } = await watch.during(async () => loadOf(place, work, { connections, seconds: loadSeconds, warmup: 0 }));
  const alone = await loadOf(place, work, { connections: 1, seconds: aloneSeconds, warmup: 0 });
  return {
    ...{ name: work.name, perSecond: load.requestsPerSecond, ...eachOf(spent, load.requests) },
    ...{ p99Ms: load.p99Milliseconds, aloneP50Ms: alone.p50Milliseconds },
  };
}

/** The load generator of the public listener tells no times: one at a time, they follow from the rate. */
async function measuredPublic({ scratch }: Place, watch: Watch, { name, url, request }: PublicWork): Promise<FormatFigures> {
  const load = async (count: number, seconds: number): Promise<PlainLoad> => {
    const done = await plainLoad(scratch, url, request, { connections: count, seconds, warmup: 0 });
    if (done.unsigned + done.otherStatus + done.broken > 0) throw new Error(`${name}: some answers are refusals: ${JSON.stringify(done)}`);
    return done;
  };
  await load(connections, warmUpSeconds);
  const { value, ...spent } = await watch.during(async () => load(connections, loadSeconds));
  const alone = await load(1, aloneSeconds);
  return { name, perSecond: rateOf(value), ...eachOf(spent, value.signed), p99Ms: undefined, aloneP50Ms: 1000 / rateOf(alone) };
}

function eachOf({ cpuSeconds, threadSeconds, auditBytes, accountBytes }: Spent, requests: number): Spent {
  return {
    cpuSeconds: cpuSeconds / requests,
    threadSeconds: threadSeconds / requests,
    auditBytes: auditBytes / requests,
    accountBytes: accountBytes / requests,
  };
}
