import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { openssl } from '../support/openssl.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';
import { privateKeysOf } from '../support/token-listing.ts';

let token: ScratchToken;
let configPath: string;
/** Of what one test makes. */
let directory: string;
let certificateAuthorities: Record<string, { readonly certificate: string; readonly chain: readonly string[] }>;

interface Section {
  readonly certificate: string;
  readonly chain: readonly string[];
  readonly formerCertificates?: readonly string[];
  readonly keyId: string;
  readonly policy: string;
}

beforeAll(async () => {
  token = scratchToken();
  configPath = join(token.directory, 'signetd.yaml');
  certificateAuthorities = {};
  configure({});
  const made = await run('--json', 'ca', 'init', '--directory', token.directory, ...identity, '--root-years', '5');
  ({ certificateAuthorities } = jsonOf(made) as { certificateAuthorities: typeof certificateAuthorities });
});
afterAll(() => {
  token.remove();
});
beforeEach(() => {
  configure({});
  directory = mkdtempSync(join(token.directory, 'tsa-'));
});

function configure(more: object): void {
  const { token: section } = JSON.parse(readFileSync(token.configPath, 'utf8')) as { token: object };
  const listeners = { api: { certificate: 'a', key: 'b', clientCertificateAuthority: 'c' } };
  const state = { path: join(token.directory, 'state.sqlite') };
  writeFileSync(configPath, stringify({ listeners, token: section, state, certificateAuthorities, tenants: {}, ...more }), { mode: 0o600 });
}

const run = async (...args: string[]): Promise<CommandRun> => signetctl(['--config', configPath, ...args]);
const runHere = async (...args: string[]): Promise<CommandRun> => signetctlHere(['--config', configPath, ...args]);
const identity = ['--country', 'FR', '--organization', 'Example SA'];
const initialising = (...more: string[]): string[] => [
  'tsa',
  'init',
  '--directory',
  directory,
  ...identity,
  '--policy',
  '1.2.3.4',
  ...more,
];
const init = async (...more: string[]): Promise<CommandRun> => run(...initialising(...more));
const initHere = async (...more: string[]): Promise<CommandRun> => runHere(...initialising(...more));
const sectionOf = ({ stdout }: CommandRun): Section =>
  (parse(stdout.split('\n\n').slice(1).join('\n\n')) as { timeStampAuthority: Section }).timeStampAuthority;
const keys = (): string[] => privateKeysOf({ label: 'test', pin: token.pin, softhsmConfig: token.environment.SOFTHSM2_CONF }).toSorted();

describe('signetctl tsa', () => {
  it.each([
    ['root', 'P-256'],
    ['issuing', 'P-384'],
    ['issuing', 'RSA-3072'],
  ])('init makes key and certificate under %s, %s, and says what the configuration needs', async (by, keyType) => {
    const made = await initHere('--by', by, '--key-type', keyType, '--public-url', 'http://pki.example.test');
    expect([made.status, made.stderr]).toEqual([0, '']);
    const section = sectionOf(made);
    const authority = certificateAuthorities[by];
    expect(section).toMatchObject({ chain: [authority?.certificate, ...(authority?.chain ?? [])], policy: '1.2.3.4' });
    expect(keys()).toContain(section.keyId);
    const untrusted = join(directory, 'above.pem');
    writeFileSync(untrusted, section.chain.map((file) => readFileSync(file, 'utf8')).join(''));
    const verdict = openssl([
      ...['verify', '-x509_strict', '-purpose', 'timestampsign', '-CAfile', section.chain.at(-1) ?? '', '-untrusted', untrusted],
      section.certificate,
    ]);
    expect(verdict).toContain('OK');
    const text = openssl(['x509', '-in', section.certificate, '-noout', '-text']);
    expect(text).toMatch(/Extended Key Usage: critical\s+Time Stamping\n/);
    expect(text).toContain(`URI:http://pki.example.test/pki/${by}.crl`);
    expect(text).toContain(`OCSP - URI:http://pki.example.test/ocsp/${by}`);
    configure({ timeStampAuthority: section });
    const { stderr } = await runHere('config', 'check');
    expect(stderr).not.toContain('timeStampAuthority: the');
    expect(stderr).toContain('timeStampAuthority: it serves only the signatures of signetd');
  });

  it('init overwrites nothing: a second run leaves no key behind; and it says what lacks', async () => {
    const first = await init('--by', 'root');
    expect([first.status, first.stderr]).toEqual([0, expect.stringContaining('names no CRL and no OCSP responder')]);
    const before = keys();
    const again = await initHere('--by', 'root');
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('already exists and will not be overwritten')]);
    expect(keys()).toEqual(before);
  });

  it('certify renews with the key that is there, no longer than the CA lives, and keeps the one before', async () => {
    const section = sectionOf(await initHere('--by', 'root', '--years', '1'));
    configure({ timeStampAuthority: section });
    const renewing = ['tsa', 'certify', '--by', 'root', '--directory', directory, '--file', 'tsa-2.pem', '--years', '20'];
    const renewal = await run(...renewing);
    expect(renewal.status).toBe(0);
    const renewed = sectionOf(renewal);
    expect(renewed).toMatchObject({ keyId: section.keyId, formerCertificates: [section.certificate], policy: '1.2.3.4' });
    const show = (file: string, what: string): string => openssl(['x509', '-in', file, '-noout', what]);
    for (const what of ['-pubkey', '-subject']) expect(show(renewed.certificate, what)).toBe(show(section.certificate, what));
    expect(show(renewed.certificate, '-enddate')).toBe(show(certificateAuthorities['root']?.certificate ?? '', '-enddate'));
    configure({ timeStampAuthority: renewed });
    expect((await runHere('config', 'check')).stderr).not.toContain('timeStampAuthority: the');
  });

  it.each([
    [['--by', 'nobody'], 'the configuration has no certificate authority "nobody"'],
    [['--by', 'root', '--policy', 'ours'], '--policy takes a dotted object identifier'],
    [['--by', 'root', '--key-type', 'P-521'], '--key-type takes one of'],
    [['--by', 'root', '--years', '0'], '--years takes a number of years'],
    [['--by', 'root', '--country', 'France'], 'country: '],
  ])('init with %s is refused, and makes no key', async (options, fault) => {
    const before = keys();
    const { status, stderr } = await initHere(...options);
    expect([status, stderr]).toEqual([2, expect.stringContaining(fault)]);
    expect(keys()).toEqual(before);
    expect(existsSync(join(directory, 'tsa.pem'))).toBe(false);
  });

  it('certify needs one that is configured', async () => {
    const { status, stderr } = await runHere('tsa', 'certify', '--by', 'root', '--directory', directory, '--file', 'x.pem');
    expect([status, stderr]).toEqual([2, expect.stringContaining('the configuration has no time-stamp authority')]);
  });
});
