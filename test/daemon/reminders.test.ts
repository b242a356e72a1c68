import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { Reminders, type End } from '../../src/daemon/reminders.ts';
import type { Logger } from '../../src/telemetry/log.ts';
import { description } from '../support/api.ts';

const dayMs = 86_400_000;
const config = loadConfig(description.configFile);
const client = { client: 'app', spkiSha256: 'ab'.repeat(32), from: new Date(0), until: new Date(100 * dayMs) };
const opened: Reminders[] = [];

afterEach(() => {
  for (const reminders of opened.splice(0)) reminders.stop();
  vi.useRealTimers();
});

function remindersOf(renewed: readonly End[] = [], others = {}): { readonly reminders: Reminders; readonly logged: string[] } {
  const logged: string[] = [];
  const warn = (message: string, fields?: object): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log = { warn, error: warn, info: () => undefined, debug: () => undefined } satisfies Logger;
  const reminders = new Reminders({ config: () => config, clients: () => [client], renewed: () => renewed, others: () => others, log });
  opened.push(reminders);
  return { reminders, logged };
}

/** The warnings about the client alone. */
const ofClient = (reminders: Reminders, day: number): string[] =>
  Object.values(reminders.warnings(day * dayMs)).filter((text) => text.includes('client certificate'));

describe('reminders', () => {
  it('begin with the last fifth of a lifetime and go on after its end', () => {
    const { reminders } = remindersOf();
    expect(ofClient(reminders, 80)).toEqual([]);
    expect(ofClient(reminders, 80.1)).toEqual([
      `client certificate app (public key abababababababab) expires on 1970-04-11T00:00:00.000Z: signetctl client renew issues the next one; signetctl client revoke ends a registration that is no longer used`,
    ]);
    expect(ofClient(reminders, 101)).toEqual([expect.stringContaining(' expired on ')]);
  });

  it('tell of each certificate of the configuration, with the file', () => {
    const file = config.timeStampAuthority?.certificate ?? '';
    const { validFromDate, validToDate } = new X509Certificate(readFileSync(file));
    const { reminders } = remindersOf();
    const late = validFromDate.getTime() + 0.81 * (validToDate.getTime() - validFromDate.getTime());
    expect(reminders.warnings(late)[`timeStampAuthority: ${file}`]).toMatch(/ expires on .*: replace it, then run signetctl reload$/);
    expect(reminders.warnings(validFromDate.getTime() + 1000)).not.toHaveProperty([`timeStampAuthority: ${file}`]);
  });

  it('are in the log at once when asked, and then once a day', () => {
    vi.useFakeTimers({ now: 0.5 * dayMs });
    const crl = { name: 'CRL of issuing', from: new Date(0), until: new Date(0.6 * dayMs), remedy: 'the log says why' };
    const { reminders, logged } = remindersOf([crl], { clients: 'a CRL of the client CAs expires soon' });
    const about = (words: string): number => logged.filter((line) => line.includes(words)).length;
    reminders.remind();
    expect([about('something ends soon {"name":"CRL of issuing"'), about('a CRL of the client CAs')]).toEqual([1, 1]);
    vi.advanceTimersByTime(2.5 * dayMs);
    expect([about('something has ended {"name":"CRL of issuing"'), about('a CRL of the client CAs')]).toEqual([2, 3]);
  });
});
