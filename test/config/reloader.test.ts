import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig, type Config } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { Reloader, type Participant } from '../../src/config/reloader.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-reloader-'));
const path = join(directory, 'signetd.yaml');

const text = (documentsMax: number, more = ''): string => `
listeners: { api: { certificate: server.pem, key: server.key, clientCertificateAuthority: clients.pem } }
token: { label: prod, pin: "credential:pin" }
limits: { documentsMax: ${documentsMax} }
certificateAuthorities: { issuing: { certificate: ca.pem, keyId: "49${'0'.repeat(32)}" } }
tenants: { bank: { certificateAuthority: issuing, profile: { keyType: P-256 } } }
${more}`;

/** Counts how it was asked, and works by what it was switched to. */
class Part implements Participant {
  prepared = 0;
  documentsMax = 10;
  refuses: Error | undefined;
  gate: Promise<unknown> | undefined;

  async prepare(next: Config): Promise<() => void> {
    this.prepared += 1;
    await this.gate;
    if (this.refuses !== undefined) throw this.refuses;
    return () => {
      this.documentsMax = next.limits.documentsMax;
    };
  }
}

let one: Part;
let other: Part;
let announced: string[];
let reloader: Reloader;

afterAll(() => {
  rmSync(directory, { recursive: true });
});

beforeEach(() => {
  writeFileSync(path, text(10));
  one = new Part();
  other = new Part();
  announced = [];
  reloader = new Reloader({
    path,
    initial: loadConfig(path),
    announce: (state) => void announced.push(state),
  });
  for (const part of [one, other]) reloader.join(part);
});

describe('a reload', () => {
  it('switches every part, and reports which members changed', async () => {
    writeFileSync(path, text(20));
    expect(await reloader.reload()).toEqual(['limits.documentsMax']);
    expect([one.documentsMax, other.documentsMax, reloader.config.limits.documentsMax]).toEqual([20, 20, 20]);
    expect(reloader.last).toEqual({ at: expect.any(Number) as number, faults: [] });
    expect(announced).toEqual(['reloading', 'ready']);
  });

  it.each([
    ['the first', () => [one], ['one has no room']],
    ['the last', () => [other], ['other has no room']],
    ['every', () => [one, other], ['one has no room', 'other has no room']],
  ])('that %s part refuses switches none, whatever the others have prepared, and names every fault', async (_name, refusing, faults) => {
    one.refuses = refusing().includes(one) ? new Error('one has no room') : undefined;
    other.refuses = refusing().includes(other) ? new Error('other has no room') : undefined;
    const before = reloader.config;
    writeFileSync(path, text(20));
    await expect(reloader.reload()).rejects.toThrow(new ConfigError(faults.map((fault) => `${path}: ${fault}`).join('\n')));
    expect([one.prepared, other.prepared]).toEqual([1, 1]);
    expect([one.documentsMax, other.documentsMax]).toEqual([10, 10]);
    expect(reloader.config).toBe(before);
    expect(reloader.last?.faults).toEqual(faults.map((fault) => `${path}: ${fault}`));
    expect(announced).toEqual(['reloading', 'ready']);
    [one.refuses, other.refuses] = [undefined, undefined];
    expect(await reloader.reload()).toEqual(['limits.documentsMax']);
    expect([one.documentsMax, other.documentsMax]).toEqual([20, 20]);
    expect(reloader.last?.faults).toEqual([]);
  });

  it('is still prepared by the other parts if one part throws', async () => {
    const throwing: Participant = {
      prepare() {
        throw new Error('at once');
      },
    };
    const first = new Reloader({ path, initial: loadConfig(path), announce: () => undefined });
    for (const part of [throwing, one]) first.join(part);
    writeFileSync(path, text(20));
    await expect(first.reload()).rejects.toThrow('at once');
    expect([one.prepared, one.documentsMax]).toEqual([1, 10]);
  });

  it.each([
    ['a file that is wrong', text(20, 'unknown: 1')],
    ['a change that needs a restart', text(20).replace('label: prod', 'label: other')],
  ])('of %s asks no part', async (_name, written) => {
    writeFileSync(path, written);
    await expect(reloader.reload()).rejects.toThrow(ConfigError);
    expect([one.prepared, other.prepared, one.documentsMax]).toEqual([0, 0, 10]);
    expect(reloader.last?.faults).toHaveLength(1);
    expect(announced).toEqual(['reloading', 'ready']);
  });

  it('waits for the one before it, and reads the file again; a failed one does not prevent the next', async () => {
    const gate = Promise.withResolvers<undefined>();
    one.gate = gate.promise;
    other.refuses = new Error('not yet');
    writeFileSync(path, text(20));
    const first = reloader.reload();
    const second = reloader.reload();
    await expect.poll(() => one.prepared).toBe(1);
    writeFileSync(path, text(30));
    gate.resolve(undefined);
    await expect(first).rejects.toThrow('not yet');
    await expect(second).rejects.toThrow('not yet');
    expect(one.prepared).toBe(2);
    other.refuses = undefined;
    expect(await reloader.reload()).toEqual(['limits.documentsMax']);
    expect(one.documentsMax).toBe(30);
    expect(announced).toEqual(['reloading', 'ready', 'reloading', 'ready', 'reloading', 'ready']);
  });
});
