import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { FetchedLists, listMaxBytes, type FetchOutcome } from '../../../src/http/tls/fetched-lists.ts';
import { KeptLists } from '../../../src/http/tls/kept-lists.ts';
import { OutgoingHttp } from '../../../src/outgoing/outgoing-http.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';
import { noSmallDisk, SmallDisk } from '../../audit/small-disk.ts';
import { AnsweringServer, type Answering } from '../../support/answering-server.ts';
import { hourMs, type CertificateFiles, type ScratchAuthority } from '../../support/scratch-authority.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { skipNote } from '../../support/skip-note.ts';
import { OpenConnection } from './open-connection.ts';
import { newAuthority, scratchListener, type ScratchListener } from './scratch-listener.ts';

/** Far shorter than in operation. */
const refreshMs = 50;
const timeoutSeconds = 1;
const patience = { timeout: 20_000, interval: 10 };
const served = expect.stringContaining('HTTP/1.1 200 OK') as string;

const directory = mkdtempSync(join(tmpdir(), 'signetd-fetched-'));
const threads = new WorkThreads();
const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
afterAll(async () => {
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** A listener whose CRLs come from a server, with the part of the service that fetches them. */
interface Fetching {
  readonly authority: ScratchAuthority;
  readonly client: CertificateFiles;
  readonly server: AnsweringServer;
  readonly listener: ScratchListener;
  readonly lists: FetchedLists;
  readonly log: ReturnType<typeof recordingLog>;
  readonly outcomes: FetchOutcome[];
  readonly kept: string;
  open(files?: CertificateFiles): Promise<OpenConnection>;
  /** Stops fetching and listening, as a stop of the service does. */
  stop(): Promise<void>;
  /** The same again, with what was kept. */
  again(): Promise<Fetching>;
}

async function fetching(
  answering: Answering,
  over: Partial<Pick<Fetching, 'authority' | 'client' | 'server' | 'kept'>> & { readonly list?: string } = {},
): Promise<Fetching> {
  const { authority = newAuthority('clients') } = over;
  const { client = authority.issue('client'), kept = mkdtempSync(join(directory, 'kept-')) } = over;
  const server = over.server ?? (await AnsweringServer.start(answering));
  const log = recordingLog();
  const outcomes: FetchOutcome[] = [];
  const authorities = [new X509Certificate(readFileSync(authority.certificate))];
  const http = new OutgoingHttp({ clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds, connectionsMax: 8 });
  const changed = (): void => {
    listener.tls.takeFetched();
  };
  const lists = new FetchedLists({ threads, kept: new KeptLists(kept), log, changed, ended: (outcome) => outcomes.push(outcome) });
  await lists.load(authorities);
  const listener: ScratchListener = await scratchListener({
    ...{ urls: [server.url], fetched: () => lists.lists, authorities: readFileSync(authority.certificate, 'latin1') },
    ...(over.list === undefined ? {} : { list: over.list }),
  });
  lists.use({ urls: [new URL(server.url)], refreshMs, authorities, http });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await lists.stop();
    listener.close();
  };
  ends.push(stop, () => {
    server.stop();
  });
  return {
    ...{ authority, client, server, listener, lists, log, outcomes, kept, stop },
    open: async (files = client) => {
      const connection = await OpenConnection.open(listener.port, files);
      ends.push(() => {
        connection.close();
      });
      return connection;
    },
    again: async () => {
      await stop();
      return fetching(server.answering, { authority, client, server, kept });
    },
  };
}

const pem = (text: string): Buffer => Buffer.from(text, 'latin1');
/** Waits for the next fetches that end so. */
async function next(outcome: FetchOutcome, { outcomes }: Fetching, count = 1): Promise<void> {
  const before = outcomes.filter((one) => one === outcome).length;
  await expect.poll(() => outcomes.filter((one) => one === outcome).length, patience).toBeGreaterThanOrEqual(before + count);
}

describe('CRLs from a URL', () => {
  it('admit nobody before the first one, and the clients of the CA after it', async () => {
    const here = await fetching(() => 503);
    await next('failed', here);
    const refused = await here.open();
    expect(await refused.send()).toBe('');
    expect(here.listener.audited).toEqual([expect.stringContaining('(UNABLE_TO_GET_CRL)')]);
    expect(here.listener.tls.faults()).toEqual({ clients: 'there is no CRL of CN=clients yet: its clients are refused' });
    expect(here.listener.tls.revocationListEndsMs).toBe(0);
    expect(here.lists.sources).toEqual([expect.objectContaining({ fault: 'the server answered with status 503' })]);
    const list = pem(here.authority.revocationList());
    here.server.answering = () => list;
    await next('newer', here);
    const admitted = await here.open();
    expect(await admitted.send()).toEqual(served);
    expect(here.listener.tls.faults()).toEqual({});
    expect(here.lists.sources).toEqual([expect.objectContaining({ fault: undefined })]);
  });

  it('end the open connection of a client that is revoked, twice in a row, and leave the others', async () => {
    const authority = newAuthority('clients');
    const first = pem(authority.revocationList());
    const here = await fetching(() => first, { authority });
    await next('unchanged', here);
    const kept = await here.open();
    for (const name of ['first', 'second']) {
      const revoked = authority.issue(name);
      const connection = await here.open(revoked);
      expect([await connection.send(), await kept.send()]).toEqual([served, served]);
      authority.revoke(revoked);
      const list = authority.revocationList({ from: new Date(Date.now() - 1000) });
      here.server.answering = () => pem(list);
      await next('newer', here);
      expect([await connection.send(), await kept.send()]).toEqual(['', served]);
      expect(await (await here.open(revoked)).send()).toBe('');
      expect(here.listener.audited.splice(0)).toEqual(Array(2).fill(expect.stringContaining('(CERT_REVOKED)')));
    }
  });

  it('that have not changed are read once', async () => {
    const authority = newAuthority('clients');
    const list = pem(authority.revocationList());
    const here = await fetching(() => list, { authority });
    await next('unchanged', here, 3);
    expect(here.outcomes.filter((outcome) => outcome === 'newer')).toHaveLength(1);
    expect(here.listener.log.lines.filter((line) => line.startsWith('a fetched CRL of a client CA is in force'))).toHaveLength(1);
  });

  it('count beside files: of two of one CA, the newer one', async () => {
    const authority = newAuthority('clients');
    const revoked = authority.issue('revoked');
    const older = authority.revocationList({ from: new Date(Date.now() - hourMs) });
    authority.revoke(revoked);
    const newer = authority.revocationList({ from: new Date(Date.now() - hourMs / 2) });
    for (const [file, sent] of [
      [older, newer],
      [newer, older],
    ] as const) {
      const here = await fetching(() => pem(sent), { authority, list: file });
      await next('unchanged', here);
      expect(await (await here.open(revoked)).send()).toBe('');
      expect(await (await here.open()).send()).toEqual(served);
      // The older file is no reason to refuse a reload.
      here.listener.tls.prepare(here.listener.config)();
      expect(await (await here.open(revoked)).send()).toBe('');
    }
  });
});

describe('a server at fault', () => {
  const authority = newAuthority('clients');
  const impostor = newAuthority('clients');
  const mayNot = newAuthority('clients', { keyUsage: 'keyCertSign' });
  const older = authority.revocationList({ from: new Date(Date.now() - 2 * hourMs) });
  const numberedLower = authority.revocationList({ from: new Date(Date.now() - hourMs / 4), number: 6 });
  const past = authority.revocationList({ from: new Date(Date.now() - 2 * hourMs), until: new Date(Date.now() - hourMs) });
  const future = authority.revocationList({ from: new Date(Date.now() + hourMs), until: new Date(Date.now() + 2 * hourMs) });
  const good = authority.revocationList({ from: new Date(Date.now() - hourMs / 2), number: 7 });
  async function* hanging(): AsyncGenerator<Uint8Array> {
    yield pem(good).subarray(0, 100);
    await new Promise(() => undefined);
  }
  async function* trickling(): AsyncGenerator<Uint8Array> {
    for (const byte of pem(good)) {
      yield Uint8Array.of(byte);
      await delay(20);
    }
  }
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield await Promise.resolve(Buffer.alloc(1024 * 1024));
  }

  it.each<[string, Answering, RegExp]>([
    ['nothing', () => Buffer.alloc(0), /there is no CRL in PEM or DER/],
    ['what is no CRL', () => pem('<html>please log in</html>'), /there is no CRL in PEM or DER/],
    ['a CRL that is cut', () => pem(good.replace(/\n.{64}\n/, '\n')), /the CRL cannot be used/],
    ['a CRL that somebody else signed', () => pem(authority.revocationList({ signer: impostor })), /signature is not that of the CA/],
    ['a CRL of another CA', () => pem(newAuthority('somebody').revocationList()), /of none of the clients' certificate authorities/],
    ['an older CRL', () => pem(older), /is of .*: there is one of .* in force/],
    ['a CRL with a lower number', () => pem(numberedLower), /has the number 6: there is one with the number 7 in force/],
    ['an expired CRL', () => pem(past), /expired on/],
    ['a CRL of the future', () => pem(future), /is not valid before/],
    ['a redirect', () => 302, /status 302/],
    ['an error', () => 500, /status 500/],
    ['too much', () => Buffer.alloc(listMaxBytes + 1), /has more than 16777216 bytes/],
    ['no end', () => endless(), /has more than 16777216 bytes/],
    ['a part', () => hanging(), /no answer within 1 s/],
    ['one octet after the other', () => trickling(), /no answer within 1 s/],
    ['no answer', async () => new Promise(() => undefined), /no answer within 1 s/],
  ])('that sends %s leaves what was in force, twice in a row', async (_name, bad, reason) => {
    const here = await fetching(() => pem(good), { authority });
    for (const round of [1, 2]) {
      await next('unchanged', here);
      const connection = await here.open();
      // A connection without any request is closed sooner than one between two.
      expect(await connection.send()).toEqual(served);
      here.server.answering = bad;
      await expect.poll(() => here.lists.sources[0]?.fault, patience).toMatch(reason);
      expect([round, await connection.send(), await (await here.open()).send()]).toEqual([round, served, served]);
      expect(here.listener.tls.faults()).toEqual({});
      here.server.answering = () => pem(good);
      await expect.poll(() => here.lists.sources[0]?.fault, patience).toBeUndefined();
    }
  });

  it('whose CA may not sign CRLs is refused', async () => {
    const here = await fetching(() => pem(mayNot.revocationList()), { authority: mayNot });
    await next('failed', here);
    expect(here.lists.sources[0]?.fault).toMatch(/may not sign CRLs \(keyUsage\)/);
  });

  it('that is away until the CRL has expired lets nobody in, until it is back', async () => {
    const until = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3000);
    const ending = authority.revocationList({ from: new Date(Date.now() - hourMs / 2), until });
    const here = await fetching(() => pem(ending), { authority });
    await next('unchanged', here);
    const connection = await here.open();
    here.server.answering = () => 503;
    await expect.poll(async () => connection.send(), patience).toBe('');
    expect(Date.now()).toBeGreaterThanOrEqual(until.getTime());
    expect(here.listener.tls.faults()).toEqual({ clients: 'a CRL of the client CAs has expired: its clients are refused' });
    expect(here.listener.audited.at(-1)).toContain('(CRL_HAS_EXPIRED)');
    const newer = authority.revocationList({ from: new Date(Date.now() - 1000) });
    here.server.answering = () => pem(newer);
    await next('newer', here);
    expect(await (await here.open()).send()).toEqual(served);
  });
});

describe('a restart', () => {
  it('while the server is away uses the kept CRL, and takes back no revocation, twice in a row', async () => {
    const authority = newAuthority('clients');
    const revoked = authority.issue('revoked');
    const older = pem(authority.revocationList({ from: new Date(Date.now() - hourMs) }));
    authority.revoke(revoked);
    const list = pem(authority.revocationList({ from: new Date(Date.now() - hourMs / 2) }));
    let here = await fetching(() => list, { authority });
    await next('unchanged', here);
    expect(readdirSync(here.kept)).toEqual([expect.stringMatching(/^[0-9a-f]{32}\.crl$/)]);
    for (const answer of [503, older]) {
      here.server.answering = () => answer;
      here = await here.again();
      expect(await (await here.open()).send()).toEqual(served);
      expect(await (await here.open(revoked)).send()).toBe('');
      await next('failed', here);
      expect(await (await here.open(revoked)).send()).toBe('');
      expect(here.listener.tls.faults()).toEqual({});
    }
    here.server.answering = () => list;
    await next('unchanged', here);
  });

  it('with a kept file that is damaged starts without it, and says so', async () => {
    const authority = newAuthority('clients');
    const list = pem(authority.revocationList());
    const before = await fetching(() => list, { authority });
    await next('unchanged', before);
    const [name = ''] = readdirSync(before.kept);
    const file = join(before.kept, name);
    const whole = readFileSync(file);
    for (const damaged of [Buffer.alloc(0), whole.subarray(0, 100), Buffer.concat([whole.subarray(0, -8), Buffer.alloc(8, 0x41)])]) {
      await before.stop();
      writeFileSync(file, damaged);
      before.server.answering = () => 503;
      const here = await before.again();
      expect(here.log.lines).toContainEqual(expect.stringContaining('a kept CRL of a client CA cannot be used'));
      expect(await (await here.open()).send()).toBe('');
      here.server.answering = () => list;
      await next('newer', here);
      await expect.poll(() => readFileSync(file).equals(whole), patience).toBe(true);
      await here.stop();
    }
  });
});

describe('what is kept', () => {
  it.skipIf(noSmallDisk !== undefined)(
    `is whole on a full disk; the CRL is in force, and kept once there is room, twice in a row${skipNote(noSmallDisk)}`,
    async () => {
      const disk = new SmallDisk(64 * 1024);
      ends.push(() => {
        disk.remove();
      });
      const kept = join(disk.directory, 'kept');
      mkdirSync(kept);
      const authority = newAuthority('clients');
      const first = pem(authority.revocationList({ from: new Date(Date.now() - hourMs) }));
      const here = await fetching(() => first, { authority, kept });
      // The next fetch begins after the first list was written.
      await next('unchanged', here);
      const [name = ''] = readdirSync(kept);
      for (const minutes of [30, 20]) {
        disk.fill();
        const before = readFileSync(join(kept, name));
        const revoked = authority.issue('revoked');
        authority.revoke(revoked);
        const list = pem(authority.revocationList({ from: new Date(Date.now() - minutes * 60_000) }));
        here.server.answering = () => list;
        await expect.poll(() => here.lists.keepFault, patience).toMatch(/ENOSPC/);
        expect(await (await here.open(revoked)).send()).toBe('');
        expect(await (await here.open()).send()).toEqual(served);
        // Each fetch tries again, and takes away what it could not write.
        await expect.poll(() => readdirSync(kept), patience).toEqual([name]);
        expect(readFileSync(join(kept, name))).toEqual(before);
        disk.empty();
        await expect.poll(() => here.lists.keepFault, patience).toBeUndefined();
        expect(readFileSync(join(kept, name))).not.toEqual(before);
      }
    },
  );
});
