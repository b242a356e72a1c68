import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import type { SignedList } from '../../../src/http/tls/client-trust.ts';
import { FetchedLists, type ListSources } from '../../../src/http/tls/fetched-lists.ts';
import { KeptLists } from '../../../src/http/tls/kept-lists.ts';
import { readRevocationLists } from '../../../src/http/tls/revocation-lists.ts';
import { OutgoingHttp } from '../../../src/outgoing/outgoing-http.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';
import { AnsweringServer } from '../../support/answering-server.ts';
import { hourMs, type ScratchAuthority } from '../../support/scratch-authority.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { OpenConnection } from './open-connection.ts';
import { newAuthority, scratchListener, type ScratchListener } from './scratch-listener.ts';

const patience = { timeout: 20_000, interval: 10 };
const served = expect.stringContaining('HTTP/1.1 200 OK') as string;
const directory = mkdtempSync(join(tmpdir(), 'signetd-fetched-order-'));
const threads = new WorkThreads();
const http = new OutgoingHttp({ clientHosts: [], privateNetworks: ['127.0.0.0/8'], timeoutSeconds: 5, connectionsMax: 8 });
const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
afterAll(async () => {
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

const certificateOf = ({ certificate }: ScratchAuthority): X509Certificate => new X509Certificate(readFileSync(certificate));
const ago = (ms: number): Date => new Date(Date.now() - ms);

async function serving(list: () => Promise<string> | string): Promise<AnsweringServer> {
  const server = await AnsweringServer.start(async () => Buffer.from(await list(), 'latin1'));
  ends.push(() => {
    server.stop();
  });
  return server;
}

it('a revocation that a refused reload has brought is in force, twice in a row', async () => {
  const authority = newAuthority('clients');
  const client = authority.issue('client');
  const sent = { list: authority.revocationList({ from: ago(hourMs) }) };
  const { url } = await serving(() => sent.list);
  const changed = (): void => {
    listener.tls.takeFetched();
  };
  const lists = new FetchedLists({ threads, kept: new KeptLists(mkdtempSync(join(directory, 'kept-'))), log: recordingLog(), changed });
  const authorities = readFileSync(authority.certificate, 'latin1');
  const listener: ScratchListener = await scratchListener({ urls: [url], fetched: () => lists.lists, authorities });
  ends.push(
    async () => lists.stop(),
    () => {
      listener.close();
    },
  );
  const sources: ListSources = { urls: [new URL(url)], refreshMs: 12 * hourMs, authorities: [certificateOf(authority)], http };
  lists.use(sources);
  await expect.poll(() => listener.tls.faults(), patience).toEqual({});
  const kept = await OpenConnection.open(listener.port, client);
  for (const minutes of [20, 10]) {
    const revoked = authority.issue('revoked');
    const connection = await OpenConnection.open(listener.port, revoked);
    expect([await connection.send(), await kept.send()]).toEqual([served, served]);
    authority.revoke(revoked);
    sent.list = authority.revocationList({ from: ago(minutes * 60_000) });
    const withStranger = { ...sources, authorities: [...sources.authorities, certificateOf(newAuthority('without a list'))] };
    expect(await lists.fetchMissing(withStranger, [])).toEqual([]);
    // The new CA has no list, so that the reload ends here.
    expect([await connection.send(), await kept.send()]).toEqual(['', served]);
    connection.close();
  }
  kept.close();
});

it('of two CRLs that come at once from two servers, the newer one is kept, twice in a row', async () => {
  for (const isOlderFirst of [true, false]) {
    const authority = newAuthority('clients');
    const [olderText = '', newerText = ''] = [ago(hourMs), ago(hourMs / 2)].map((from) => authority.revocationList({ from }));
    const [older, newer] = [olderText, newerText].map((text) =>
      Buffer.from(readRevocationLists(Buffer.from(text, 'latin1'), 'sent', [certificateOf(authority)])[0]?.der ?? []),
    );
    const isHeld = (der: Buffer | undefined): boolean => lists.lists.some((list) => der?.equals(list.der) === true);
    let atOnce = 0;
    /** A disk that has not written the older CRL before the newer one has come. */
    class SlowDisk extends KeptLists {
      #running = 0;

      override async write(list: SignedList): Promise<void> {
        this.#running += 1;
        atOnce = Math.max(atOnce, this.#running);
        if (older?.equals(list.der) === true) await expect.poll(() => isHeld(newer), patience).toBe(true);
        await super.write(list);
        this.#running -= 1;
      }
    }
    const kept = mkdtempSync(join(directory, 'kept-'));
    const files = (): Buffer[] => readdirSync(kept).map((name) => readFileSync(join(kept, name)));
    const lists = new FetchedLists({ threads, kept: new SlowDisk(kept), log: recordingLog(), changed: () => undefined });
    ends.push(async () => lists.stop());
    const servers = [
      await serving(() => olderText),
      await serving(async () => {
        await expect.poll(() => isHeld(older), patience).toBe(true);
        return newerText;
      }),
    ];
    const urls = (isOlderFirst ? servers : servers.toReversed()).map(({ url }) => new URL(url));
    lists.use({ urls, refreshMs: 12 * hourMs, authorities: [certificateOf(authority)], http });
    await expect.poll(files, patience).toEqual([newer]);
    await lists.stop();
    expect([files(), atOnce, lists.keepFault]).toEqual([[newer], 1, undefined]);
  }
});
