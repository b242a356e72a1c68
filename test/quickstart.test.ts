import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve as absolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, parseDocument, stringify } from 'yaml';
import { description as shared } from './support/api.ts';
import { quickstartEnvironment } from './support/quickstart-environment.ts';
import { readByOthers } from './support/symbol-readers.ts';
import { changeKeyId, privateKeysOnToken } from './support/token-listing.ts';

const environment = quickstartEnvironment();
afterAll(() => {
  environment.remove();
});

/** The program of `npm run quickstart`, the first command of README.md. */
describe('the quickstart', () => {
  it('runs beside another one on free ports, and OpenSSL accepts its first signatures', async () => {
    const account = environment.start();
    expect(account).toContain('CMS Verification successful');
    expect(account).toContain(`stop with "SIGNETD_QUICKSTART_DIRECTORY=${environment.directory} npm run quickstart:stop"`);
    expect(account).toMatch(/raw: +Verified OK/);
    expect(account).toMatch(/2D-Doc: Verified OK \(read by /);
    const [picture = ''] = /\S+\/bill\.png/.exec(account) ?? [];
    const { dmtxread, zxing } = await readByOthers(readFileSync(picture));
    const [zone, signature] = dmtxread?.toString('latin1').split('\u001f') ?? [];
    expect(zone).toMatch(/^DC04FR000001.{8}0101FR26FR2475001/);
    expect(signature).toMatch(/^[A-Z2-7]{103}$/);
    expect(zxing).toEqual(dmtxread);
    const own = environment.description();
    expect(new Set([own, shared].flatMap(({ baseUrl, opsUrl, publicUrl }) => [baseUrl, opsUrl, publicUrl])).size).toBe(6);
    for (const file of [own.caCertificate, own.clientCertificate, own.clientKey, own.configFile, ...own.trustAnchors]) {
      expect(readFileSync(file).length).toBeGreaterThan(0);
    }
    // The issuing CA's root, and the time-stamp authority's.
    expect(own.trustAnchors).toHaveLength(2);
    expect(Object.keys(own.clients).toSorted()).toEqual(['app', 'other', 'otp', 'p384', 'signer', 'unregistered']);
  });

  it('started again keeps data, ports and the running service', () => {
    const before = environment.description();
    expect(environment.start()).toContain('is already running');
    expect(environment.description()).toEqual(before);
  });

  it('stops, and only once; starts again with the same data, and with another path prefix if its configuration has one', async () => {
    const before = environment.description();
    expect(environment.stop()).toContain('has stopped');
    expect(environment.stop()).toContain('is not running');
    await expect(fetch(`${before.opsUrl}/health/live`)).rejects.toThrow();
    const config = parseDocument(readFileSync(before.configFile, 'utf8'));
    config.setIn(['paths', 'signRoot'], '/signatures/v1');
    writeFileSync(before.configFile, config.toString());
    expect(environment.start()).toContain('CMS Verification successful');
    expect(environment.description()).toEqual({ ...before, signRoot: '/signatures/v1' });
  });

  it('reports why there is no code if the digital identity has another password, which is no failure of the quickstart', () => {
    const file = join(environment.directory, '2d-doc', 'password');
    const before = readFileSync(file, 'utf8');
    environment.stop();
    writeFileSync(file, 'another');
    const account = environment.start();
    expect(account).toMatch(/2D-Doc: no code was made: \/doc2d\/creator\/createImage2DDoc was answered with HTTP 200: .*"minorCode":202/);
    expect(account).not.toContain('bill.png');
    environment.stop();
    writeFileSync(file, before);
    expect(environment.start()).toContain('bill.png');
  });

  it('reports what answered if a request is refused', () => {
    const file = join(environment.directory, 'quickstart.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('/signatures/v1', '/nowhere'));
    expect(() => environment.start()).toThrow(/\/nowhere\/pki\/createCertificate was answered with HTTP 404: .*"status":404/);
  });

  it('started again, gives an environment of an earlier version the parts that it lacks, a time-stamp authority among them', async () => {
    environment.stop();
    const { configFile, timestampUrl, ...earlier } = environment.description();
    const complete = readFileSync(configFile, 'utf8');
    const { outgoing, revocation, timeStampAuthority, ...config } = parse(complete) as Record<string, unknown> & {
      listeners: { public: Record<string, unknown> };
      tenants: Record<string, Record<string, unknown>>;
    };
    delete config.listeners.public['timeStampsPerSecond'];
    for (const tenant of Object.values(config.tenants)) delete tenant['timeStampsFromAnyRoot'];
    delete config.tenants['otp'];
    const { otp, ...clients } = earlier.clients;
    writeFileSync(configFile, stringify(config));
    writeFileSync(join(environment.directory, 'quickstart.json'), JSON.stringify({ ...earlier, clients, configFile }));
    environment.start();
    expect(environment.description().clients['otp']).toEqual(otp);
    expect(environment.description().timestampUrl).toBe(timestampUrl);
    const completed = parse(readFileSync(configFile, 'utf8')) as { timeStampAuthority: { keyId: string } };
    const { keyId } = completed.timeStampAuthority;
    expect(completed).toEqual({
      ...(parse(complete) as object),
      outgoing,
      revocation,
      timeStampAuthority: { ...(timeStampAuthority as object), keyId },
    });
    const answer = await fetch(timestampUrl ?? '', {
      method: 'POST',
      headers: { 'Content-Type': 'application/timestamp-query' },
      body: 'x',
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/timestamp-reply']);
  });

  it('started again, gives keys of an earlier version their purposes, and signs with them', () => {
    environment.stop();
    const { configFile } = environment.description();
    const text = readFileSync(configFile, 'utf8');
    const pairs = Array.from(text.matchAll(/keyId: "?((?:49|52|54)[0-9a-f]{32})/g), ([, id = '']) => ({ id, before: `53${id.slice(2)}` }));
    expect(pairs).toHaveLength(3);
    for (const { id, before } of pairs) changeKeyId(environment.directory, id, before);
    writeFileSync(
      configFile,
      pairs.reduce((changed, { id, before }) => changed.replace(id, before), text),
    );
    expect(environment.start()).toContain('CMS Verification successful');
    expect(parse(readFileSync(configFile, 'utf8'))).toEqual(parse(text));
    expect(privateKeysOnToken(environment.directory)).toEqual(expect.arrayContaining(pairs.map(({ id }) => id)));
  });

  it('is documented: every member of quickstart.json, every client', () => {
    const page = readFileSync('docs/quickstart.md', 'utf8');
    const { clients, ...members } = environment.description();
    for (const name of [...Object.keys(members), 'clients', ...Object.keys(clients)]) expect(page).toContain(`\`${name}\``);
  });

  it('refuses a directory with files that are not its own, and an empty path', () => {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-not-a-quickstart-'));
    const file = join(directory, 'letter.txt');
    writeFileSync(file, 'not to be lost');
    const run = (program: string, named: string): string =>
      execFileSync(process.execPath, ['--disable-sigusr1', '--input-type=module', '--eval', program], {
        env: { ...process.env, SIGNETD_QUICKSTART_DIRECTORY: named },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    const layout = pathToFileURL(absolute('dist/quickstart/layout.js')).href;
    expect(() => run(`import '${pathToFileURL(absolute('dist/quickstart/quickstart.js')).href}'`, directory)).toThrow(
      'do not belong to a quickstart',
    );
    expect(readFileSync(file, 'utf8')).toBe('not to be lost');
    const whereOf = (named: string): string => run(`import { layout } from '${layout}'; console.log(layout.directory)`, named).trim();
    expect(whereOf('')).toBe(absolute('var/quickstart'));
    expect(whereOf(directory)).toBe(directory);
    rmSync(directory, { recursive: true });
  });

  it('reports that a port of its first start is in use', async () => {
    environment.stop();
    const port = Number(new URL(environment.description().baseUrl).port);
    const squatter = createServer();
    await new Promise<void>((resolve) => {
      squatter.listen(port, '127.0.0.1', resolve);
    });
    expect(() => environment.start()).toThrow(new RegExp(`port ${port} of this quickstart is used`));
    await new Promise((resolve) => {
      squatter.close(resolve);
    });
  });
});
