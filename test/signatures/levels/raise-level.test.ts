import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Evidence } from '../../../src/documents/document.ts';
import { OutgoingHttp } from '../../../src/outgoing/outgoing-http.ts';
import { Refusal } from '../../../src/result-codes.ts';
import {
  RevocationSources,
  type RevocationData,
  type RevocationQuestion,
  type WantedData,
} from '../../../src/revocation/revocation-data.ts';
import type { LevelOrder } from '../../../src/signatures/levels/level-order.ts';
import { CertificateRevoked, LevelBroken, type Level, type LevelTrust, type Raised } from '../../../src/signatures/levels/level-writer.ts';
import type { Additions } from '../../../src/signatures/levels/long-term-data.ts';
import { completeAtLevel, type LevelTask, type RaisedEvidence } from '../../../src/signatures/levels/raise-level.ts';
import { alwaysVouched } from '../../../src/signatures/levels/vouching.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';
import type { CheckedToken } from '../../../src/timestamp/check-token.ts';
import type { MessageImprint } from '../../../src/timestamp/request.ts';
import { TimeStampClient } from '../../../src/timestamp/time-stamp-client.ts';
import type { PathCertificate } from '../../../src/x509/path/path-certificate.ts';
import { read, ScratchChain } from './scratch-chain.ts';

const chain = new ScratchChain();
const threads = new WorkThreads();
afterAll(async () => {
  await threads.stop();
  chain.remove();
});
const http = new OutgoingHttp({ clientHosts: [], privateNetworks: [], timeoutSeconds: 1, connectionsMax: 1 });
const client = new TimeStampClient(http, threads);
const root = read(chain.root);
const issuing = read(chain.issuing);
const person = read(chain.person);
const stamper = read(chain.stamper);
const good: RevocationData = { status: { kind: 'good' }, crls: [Uint8Array.of(1)], ocspAnswers: [] };
const missing: RevocationData = { status: { kind: 'undetermined', why: 'no answer' }, crls: [], ocspAnswers: [] };

class Answers extends RevocationSources {
  readonly asked: RevocationQuestion[] = [];
  readonly #answer: (certificate: PathCertificate) => RevocationData;

  constructor(answer: (certificate: PathCertificate) => RevocationData = () => good) {
    super(http, threads);
    this.#answer = answer;
  }

  override async of(question: RevocationQuestion): Promise<RevocationData> {
    this.asked.push(question);
    return Promise.resolve(this.#answer(question.certificate));
  }
}

const ofSigner: WantedData = { choice: 'OCSP', ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'CERTIFICATE' } };
const ofAuthorities: WantedData = { choice: 'CRL', ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'CERTIFICATE' } };
let token: CheckedToken;
beforeAll(async () => {
  const order = { authorities: [chain.stampAuthority()], nonce: true, trust: { anchors: [root] } };
  token = await client.stamp({ hash: 'sha256', value: new Uint8Array(32) }, order);
});

/** What happened while signatures were completed. */
class Course {
  readonly imprints: MessageImprint[] = [];
  readonly signals: AbortSignal[] = [];
  readonly completed: (readonly Additions[])[] = [];
  readonly judged: { readonly wanted: Level; readonly trust: LevelTrust; readonly raised: Raised<string> }[] = [];
}

interface Case {
  readonly level?: LevelOrder['level'];
  readonly order?: Partial<LevelOrder>;
  readonly signatures?: number;
  readonly course?: Course;
  /** The level that the reader of finished signatures finds; default: what is there. */
  readonly found?: (raised: Raised<string>, wanted: Level) => Level;
}

const bytesOf = ({ content }: Evidence): Buffer => Buffer.concat(content.filter((piece) => piece instanceof Uint8Array));
const evidence = (name: string): Evidence => ({ content: [Buffer.from(name)], mimeType: 'x/y', ending: '.x' });

/** Completes signatures in a format that writes down no more than their additions. */
async function completed({ level = 'LTA', order, signatures = 1, course = new Course(), found }: Case): Promise<readonly RaisedEvidence[]> {
  const present = ({ additions }: Raised<string>): Level =>
    additions.archive !== undefined ? 'LTA' : additions.longTermData !== undefined ? 'LT' : 'T';
  const signed = Array.from({ length: signatures }, (_, index) => ({
    prepared: {
      ...({ id: `s${index}`, covers: [], hash: 'sha256', digest: new Uint8Array(32), dataToSign: undefined } as const),
      ...{ contents: [], state: `state ${index}` },
    },
    value: Uint8Array.of(index),
  }));
  const task: LevelTask<string> = {
    signatures: signed,
    signing: { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, chain: chain.signer() },
    writer: {
      stampedBytes: ({ state }, value) => Buffer.concat([Buffer.from(state), value]),
      archive: (bytes, { hash }) => Buffer.concat([Buffer.from(hash), bytes]),
      archiveImprint: async (one) => Promise.resolve({ hash: 'sha384', value: bytesOf(one) }),
      levelOf: async (_, raised, wanted, trust) => {
        course.judged.push({ wanted, trust, raised });
        return Promise.resolve((found ?? present)(raised, wanted));
      },
    },
    complete: async (additions) => {
      course.completed.push(additions);
      return Promise.resolve(additions.map((_, index) => evidence(`evidence ${index} of ${course.completed.length}`)));
    },
  };
  return completeAtLevel(task, {
    ...{ level, totalSeconds: 60, allowSha1: false, imprintHash: 'sha256', ofSigner, ofAuthorities, now: () => new Date() },
    ...{ sources: new Answers(), threads, vouches: { forSigner: alwaysVouched, forOthers: alwaysVouched } },
    stamp: async (imprint, signal) => {
      course.imprints.push(imprint);
      course.signals.push(signal);
      return Promise.resolve(token);
    },
    ...order,
  });
}

const textOf = ({ evidence: one }: RaisedEvidence): string => bytesOf(one).toString();
const tolerant = { tolerance: { ofSigner: 'VALID', cancelOnError: false } } as const;

describe('a signature at level T', () => {
  it('has one time-stamp over what its format says, and asks nobody about certificates', async () => {
    const course = new Course();
    const sources = new Answers();
    const all = await completed({ level: 'T', course, signatures: 2, order: { sources, imprintHash: 'sha512' } });
    expect(course.imprints).toEqual(
      [0, 1].map((index) => ({
        hash: 'sha512',
        value: createHash('sha512')
          .update(Buffer.concat([Buffer.from(`state ${index}`), Buffer.of(index)]))
          .digest(),
      })),
    );
    expect(sources.asked).toEqual([]);
    expect(course.completed).toEqual([[{ timeStamp: token.der }, { timeStamp: token.der }]]);
    expect(all.map((one) => [textOf(one), one.level, one.remarks])).toEqual([
      ['evidence 0 of 1', 'T', []],
      ['evidence 1 of 1', 'T', []],
    ]);
  });
});

describe('a signature at level LT', () => {
  it('has the data of the signer and of the time-stamp authority, each from its sources', async () => {
    const course = new Course();
    const sources = new Answers();
    const [one] = await completed({ level: 'LT', course, order: { sources } });
    expect(sources.asked.map(({ certificate, issuer, wanted }) => [certificate, issuer, wanted])).toEqual([
      [person, issuing, ofSigner],
      [issuing, root, ofAuthorities],
      [stamper, root, ofAuthorities],
    ]);
    expect(sources.asked[0]?.signal).toBe(course.signals[0]);
    const certificates = [person, issuing, stamper].map(({ der }) => der);
    expect(course.completed).toEqual([[{ timeStamp: token.der, longTermData: { certificates, crls: good.crls, ocspAnswers: [] } }]]);
    expect([one?.level, course.imprints.length]).toEqual(['LT', 1]);
  });

  it('asks for the status of a time-stamp authority whose own certificate is an anchor', async () => {
    const sources = new Answers();
    const direct = { ...token, path: { ...token.path, anchor: stamper, path: [] } };
    const result = await completed({ level: 'LT', order: { ...tolerant, sources, stamp: async () => Promise.resolve(direct) } });
    expect(result[0]?.remarks).toEqual([expect.stringContaining('certificate of the time-stamp authority is unavailable')]);
  });
});

describe('a signature at level LTA', () => {
  it('has an archive time-stamp over the signature at level LT, and is completed once more with that', async () => {
    const course = new Course();
    const [one] = await completed({ course });
    expect(course.imprints[1]).toEqual({ hash: 'sha384', value: Buffer.from('evidence 0 of 1') });
    expect(course.completed.map(([additions]) => additions?.archive)).toEqual([
      undefined,
      Buffer.concat([Buffer.from('sha384'), token.der]),
    ]);
    expect(course.completed[1]?.[0]).toMatchObject({ timeStamp: token.der, longTermData: { crls: good.crls } });
    expect([one && textOf(one), one?.level]).toEqual(['evidence 0 of 2', 'LTA']);
  });

  it('without the data of a certificate has no archive time-stamp, unless the file has the data already', async () => {
    const order = { ...tolerant, sources: new Answers((one) => (one === person ? missing : good)) };
    const course = new Course();
    const [without] = await completed({ course, order, found: () => 'T' });
    expect([without?.level, without?.remarks.length, course.imprints.length]).toEqual(['T', 1, 1]);
    expect(course.judged.map(({ wanted }) => wanted)).toEqual(['LT', 'LT']);
    const there = new Course();
    const [found] = await completed({ course: there, order });
    expect([found?.level, there.imprints.length]).toEqual(['LTA', 2]);
    expect(there.judged.map(({ wanted }) => wanted)).toEqual(['LT', 'LTA']);
  });

  it('is told apart from others of the same request', async () => {
    let questions = 0;
    const sources = new Answers((one) => {
      questions += one === person ? 1 : 0;
      return one === person && questions === 1 ? missing : good;
    });
    const found = ({ additions }: Raised<string>): Level => (additions.archive === undefined ? 'T' : 'LTA');
    const all = await completed({ signatures: 2, order: { ...tolerant, sources }, found });
    expect(all.map(({ level, remarks }) => [level, remarks.length])).toEqual([
      ['T', 1],
      ['LTA', 0],
    ]);
  });
});

describe('a finished signature', () => {
  it.each([
    ['LTA', 'LT'],
    ['LT', 'T'],
    ['T', 'B'],
  ] as const)('that was to be at level %s and is at level %s is an error', async (level, found) => {
    await expect(completed({ level, found: () => found })).rejects.toThrow(`the signature reaches level ${found}, not ${level}`);
  });

  it('that lacks data is at level T at least', async () => {
    const order = { ...tolerant, sources: new Answers(() => missing) };
    expect((await completed({ level: 'LT', order, found: () => 'T' }))[0]?.level).toBe('T');
    await expect(completed({ level: 'LT', order, found: () => 'B' })).rejects.toThrow('the signature reaches level B, not T');
  });

  it('whose issuer is unknown is at level T, whatever its content looks like', async () => {
    const anchored = { ...token, path: { ...token.path, anchor: issuing, path: [] } };
    const order = { ...tolerant, stamp: async () => Promise.resolve(anchored) };
    for (const level of ['LT', 'LTA'] as const) expect((await completed({ level, order, found: () => 'LT' }))[0]?.level).toBe('T');
    await expect(completed({ level: 'LT', order, found: () => 'B' })).rejects.toThrow('the signature reaches level B, not T');
  });

  it.each(['T', 'LT', 'LTA'] as const)('is judged up to level %s where that was asked for', async (level) => {
    const course = new Course();
    await completed({ level, course });
    expect(course.judged.map(({ wanted }) => wanted)).toEqual([level]);
  });

  it('is judged by the anchors of its time-stamps, the clock and the tolerance of the order', async () => {
    const course = new Course();
    const now = new Date('2026-05-06T07:08:09Z');
    await completed({ level: 'T', course, order: { now: () => now, allowSha1: true } });
    expect(course.judged[0]?.trust).toEqual({ timeStampAnchors: [root], allowSha1: true, signerMayBeRevoked: false, now });
    for (const [worst, mayBe] of [
      ['REVOKED', true],
      ['UNDETERMINED', false],
      ['VALID', false],
    ] as const) {
      const of = new Course();
      await completed({ level: 'T', course: of, order: { tolerance: { ofSigner: worst, cancelOnError: true } } });
      expect(of.judged[0]?.trust).toMatchObject({ allowSha1: false, signerMayBeRevoked: mayBe });
    }
  });

  it('that is broken is an error of the service, and one of a revoked certificate a refusal', async () => {
    const broken = (error: Error) => (): Level => {
      throw error;
    };
    await expect(completed({ found: broken(new LevelBroken('words')) })).rejects.toThrow('the signature does not reach level LTA: words');
    await expect(completed({ level: 'LT', found: broken(new LevelBroken('words')) })).rejects.toThrow(/level LT: words$/);
    await expect(completed({ found: broken(new CertificateRevoked('words')) })).rejects.toMatchObject({
      ...{ code: 'CERTIFICATE_STATUS_REFUSED', message: 'words' },
    });
    await expect(completed({ found: broken(new RangeError('other')) })).rejects.toThrow(RangeError);
  });
});

it('a time-stamp of a time outside the validity of the signer is refused', async () => {
  const late = { ...token, info: { ...token.info, time: new Date(Date.now() + 7_200_000) } };
  const order = { stamp: async () => Promise.resolve(late) };
  for (const level of ['T', 'LTA'] as const) await expect(completed({ level, order })).rejects.toMatchObject({ code: 'TIMESTAMP_INVALID' });
});

it('where one signature fails, the answers that others wait for are given up', async () => {
  const signals: AbortSignal[] = [];
  const failing: LevelOrder['stamp'] = async (_, signal) => {
    signals.push(signal);
    expect(signal.aborted).toBe(false);
    return Promise.reject(new Refusal('TIMESTAMP_UNAVAILABLE'));
  };
  await expect(completed({ signatures: 2, order: { stamp: failing } })).rejects.toMatchObject({ code: 'TIMESTAMP_UNAVAILABLE' });
  expect(signals.map(({ aborted }) => aborted)).toEqual(signals.map(() => true));
  const course = new Course();
  await completed({ course });
  expect(course.signals.every(({ aborted }) => !aborted)).toBe(true);
});

it('all requests to other servers end with the time of the order', async () => {
  const waiting: LevelOrder['stamp'] = async (_, signal) =>
    new Promise((_resolve, reject) => {
      // The timer of the signal keeps no process alive by itself.
      const alive = setInterval(() => undefined, 1000);
      signal.addEventListener('abort', () => {
        clearInterval(alive);
        reject(new Refusal('TIMESTAMP_UNAVAILABLE', { message: 'in time' }));
      });
    });
  await expect(completed({ order: { totalSeconds: 0.02, stamp: waiting } })).rejects.toMatchObject({ message: 'in time' });
});
