import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { signing } from '../idempotency/callers.ts';
import { openssl } from '../support/openssl.ts';
import { verifiedCades } from '../support/openssl-cms.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { scratchToken } from '../support/scratch-token.ts';
import { noSecondToken, secondToken } from '../support/second-token.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';

type Section = Record<string, unknown>;
type Config = Section & {
  token: Section;
  tenants: Record<string, Section>;
  certificateAuthorities: Record<string, Section>;
  timeStampAuthority: Section;
};
const Made = z.looseObject({ certificate: z.string(), keyReference: z.looseObject({ reference: z.string() }) });
const Result = z.looseObject({ result: z.looseObject({ resultMajor: z.number(), resultMinor: z.number(), resultMessage: z.string() }) });
const Revoked = z.looseObject({ result: z.looseObject({ majorCode: z.number(), minorCode: z.number() }) });
const Checked = z.looseObject({ state: z.string() });
const Slots = z.looseObject({
  slots: z.array(z.looseObject({ token: z.looseObject({ label: z.string(), serial: z.string() }).nullable() })),
});
const Listed = z.array(z.looseObject({ reference: z.string(), state: z.string() }));

let service: OwnService;
let files: string;
let firstFile: string;
const content = Buffer.from('a contract\n');
const ended: (() => void)[] = [];

beforeAll(async () => {
  service = await OwnService.start();
  files = mkdtempSync(join(tmpdir(), 'signetd-tokens-'));
  firstFile = join(files, 'first.yaml');
}, 300_000);
afterAll(async () => {
  await service.remove();
  for (const remove of ended) remove();
  rmSync(files, { recursive: true, force: true });
});

const configFile = (): string => service.description.configFile;
const read = (file: string): Config => parse(readFileSync(file, 'utf8')) as Config;
const write = (file: string, config: Config): void => {
  writeFileSync(file, stringify(config), { mode: 0o600 });
};
const ctl = async (...command: string[]): Promise<CommandRun> => signetctl(['--json', ...command]);
async function done(...command: string[]): Promise<unknown> {
  const run = await ctl(...command);
  expect(run.status, `${command.join(' ')}: ${run.stderr}`).toBe(0);
  return jsonOf(run);
}
const operator = async (...command: string[]): Promise<unknown> => done('--config', configFile(), ...command);
const post = async (operation: string, body: object): Promise<unknown> => JSON.parse(await service.post(operation, body));
const newKey = async (protocol?: string): Promise<z.output<typeof Made>> =>
  Made.parse(await post('pki/createCertificate', newCertificate(protocol)));
async function codeOf({ keyReference }: z.output<typeof Made>): Promise<string> {
  const { resultMajor, resultMinor, resultMessage } = Result.parse(await post('signature/sign', signing(keyReference))).result;
  return resultMajor === 0 ? '0/0' : `${resultMajor}/${resultMinor} ${resultMessage}`;
}
async function revocation({ certificate }: z.output<typeof Made>): Promise<string> {
  const { majorCode, minorCode } = Revoked.parse(await post('pki/revokeCertificate', { certificate })).result;
  return `${majorCode}/${minorCode}`;
}
const stateOf = async ({ keyReference: { reference } }: z.output<typeof Made>): Promise<string> =>
  Checked.parse(await post('pki/checkKey', { keyReference: { reference } })).state;
const publicUrl = (): string => `http://127.0.0.1:${String((read(configFile())['listeners'] as { public: { port: number } }).public.port)}`;

/** A detached CAdES signature of level LT, which holds the chain and its revocation data. */
async function signed({ keyReference }: z.output<typeof Made>): Promise<Buffer> {
  const parameters = {
    XP7Signature: {
      XP7Format: 'CXP_7',
      XP7Providers: { CXP7Parameters: { detached: true } },
      ...{ timeStamp: {}, longTermValidation: {} },
    },
  };
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: content.toString('base64') } }];
  const answer = JSON.stringify(await post('signature/sign', { keyReference, parameters, inputDocuments }));
  const [, base64 = ''] = /"base64Value":"([A-Za-z0-9+/=]+)"/.exec(answer) ?? [];
  expect(base64, answer).not.toBe('');
  return Buffer.from(base64, 'base64');
}

/** An empty token, as the section of a configuration has it: of another make the first time, where there is one. */
function nextToken(time: number): Section {
  const isOther = time === 1 && noSecondToken === undefined;
  const token = isOther ? secondToken() : scratchToken();
  ended.push(() => {
    token.remove();
  });
  const own = 'settings' in token ? token.settings : { label: 'test', pin: `file:${token.directory}/pin`, environment: token.environment };
  return own;
}

async function tokenOf(file: string): Promise<{ label: string; serial: string }> {
  const { label } = read(file).token;
  const found = Slots.parse(await done('--config', file, 'token', 'slots')).slots.find(({ token }) => token?.label === label)?.token;
  return { label: found?.label ?? '', serial: found?.serial ?? '' };
}

const organisation = ['--country', 'FR', '--organization', 'Example SA'];

describe.each([1, 2])('another token, time %i', (time) => {
  const [former, next] = time === 1 ? ['issuing', 'issuing-2'] : ['issuing-2', 'issuing-3'];
  let moved: string;
  let present: string;
  let used: z.output<typeof Made>;
  let held: z.output<typeof Made>;
  let removed: z.output<typeof Made>;
  let before: Buffer;
  let accepting: string[];

  it('has no key of the former one: the daemon does not start with it', async () => {
    [used, held, removed] = [await newKey(), await newKey(), await newKey('SINGLE_USE')];
    before = await signed(used);
    await post('pki/revokeCertificate', { certificate: held.certificate, reason: 'CERTIFICATE_HOLD' });
    await operator('key', 'remove', removed.keyReference.reference);
    await service.daemon.stop();
    present = join(files, `present-${time}.yaml`);
    write(present, read(configFile()));
    if (time === 1) write(firstFile, read(configFile()));
    const config = read(configFile());
    const { environment, pin, label, modulePath, ...others } = config.token;
    config.token = { ...others, ...nextToken(time) };
    moved = join(files, 'moved.yaml');
    write(moved, config);
    const { label: found, serial } = await tokenOf(moved);
    accepting = ['--config', moved, 'token', 'accept', '--label', found, '--serial', serial];
    expect([environment, pin, label, modulePath]).toBeDefined();
    const lacking = await ctl(...accepting);
    expect([lacking.status, lacking.stderr]).toEqual([
      5,
      expect.stringMatching(/names keys that this token does not have.*nothing was done/s),
    ]);
    expect(lacking.stderr).toContain(`certificateAuthorities.${former}.keyId`);
  });

  it('gets an issuing CA and a time-stamp authority that the root on the first token certifies', async () => {
    const config = read(moved);
    const place = ['--directory', files, ...organisation, '--public-url', publicUrl(), '--issuer-token', firstFile];
    const issued = await done(
      '--config',
      moved,
      'ca',
      'issue',
      '--by',
      'root',
      '--name',
      next,
      '--common-name',
      `Issuing ${next}`,
      ...place,
    );
    const policy = ['--policy', '1.3.6.1.4.1.99999.1', '--file', `tsa-${time}.pem`];
    const stamping = await done('--config', moved, 'tsa', 'init', '--by', 'root', ...policy, ...place);
    const { certificateAuthorities } = issued as Pick<Config, 'certificateAuthorities'>;
    Object.assign(config.certificateAuthorities, certificateAuthorities);
    config.timeStampAuthority = { ...config.timeStampAuthority, ...(stamping as Config).timeStampAuthority };
    for (const tenant of Object.values(config.tenants)) tenant['certificateAuthority'] = next;
    write(moved, config);
    const chain = [String(certificateAuthorities[next]?.['certificate']), String(config.certificateAuthorities['root']?.['certificate'])];
    expect(openssl(['verify', '-CAfile', chain[1] ?? '', chain[0] ?? ''])).toContain('OK');
  });

  it('the former authorities issue their last CRLs with the former token', async () => {
    for (const [name, owner] of [
      [former, present],
      ['root', firstFile],
    ] as const) {
      const retiring = [
        'ca',
        'retire',
        '--authority',
        name,
        '--directory',
        files,
        '--file',
        `${name}-last-${time}.crl`,
        '--issuer-token',
        owner,
      ];
      const early = await ctl('--config', moved, ...retiring);
      expect([early.status, early.stderr]).toEqual([5, expect.stringContaining('is still needed, and nothing was done')]);
      const retired = await done('--config', moved, ...retiring, '--unrevocable');
      const config = read(moved);
      config.certificateAuthorities[name] = { ...config.certificateAuthorities[name], retired: true };
      write(moved, config);
      const { validTo } = new X509Certificate(readFileSync(String(config.certificateAuthorities[name]['certificate'])));
      const crl = openssl(['crl', '-noout', '-nextupdate', '-in', join(files, `${name}-last-${time}.crl`)]);
      expect(crl.replace('nextUpdate=', '').trim()).toBe(validTo);
      expect(retired).toMatchObject({ isKeyDestroyed: false });
    }
  });

  it('is accepted once it is named, and only by a stopped service', async () => {
    const wrong = await ctl(...accepting.slice(0, -1), 'another');
    expect([wrong.status, wrong.stderr]).toEqual([
      5,
      expect.stringMatching(/the configuration names the token .* with the serial number .* with another; nothing was done/),
    ]);
    const here = await tokenOf(present);
    const same = await ctl('--config', present, 'token', 'accept', '--label', here.label, '--serial', here.serial);
    expect([same.status, same.stderr]).toEqual([5, expect.stringContaining('they belong together')]);
    await service.daemon.start();
    const early = await ctl(...accepting);
    expect([early.status, early.stderr]).toEqual([5, expect.stringContaining('signetd runs: stop it first')]);
    await service.daemon.stop();
    const { keys, macKey } = z.looseObject({ keys: z.number(), macKey: z.number() }).parse(await done(...accepting));
    expect(macKey).toBe(time);
    expect(keys).toBeGreaterThanOrEqual(2);
    const again = await ctl(...accepting);
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('they belong together')]);
    write(configFile(), read(moved));
  });

  it.each([1, 2])('serves with it, start %i: what is of before is left behind, and what is new works', async () => {
    await service.daemon.start();
    const states = [await stateOf(used), await stateOf(held), await stateOf(removed)];
    expect(states).toEqual(['LEFT_BEHIND', 'LEFT_BEHIND', 'REMOVED']);
    expect(await codeOf(used)).toMatch(/^2\/204 .*the key is on a token that the service no longer uses/);
    expect(await codeOf(removed)).toMatch(/^2\/204 /);
    expect(await revocation(used)).toBe('2/212');
    const removing = await ctl('--config', configFile(), 'key', 'remove', used.keyReference.reference);
    expect([removing.status, removing.stderr]).toEqual([5, expect.stringContaining('nothing was destroyed')]);
    const root = readFileSync(String(read(configFile()).certificateAuthorities['root']?.['certificate']), 'utf8');
    const made = await newKey();
    for (const cms of [before, await signed(made)]) verifiedCades(cms, root, content);
    expect(await revocation(made)).toBe('0/0');
    const crl = await fetch(`${publicUrl()}/pki/${next}.crl`);
    const listed = openssl(['crl', '-inform', 'DER', '-noout', '-text', '-in', '{crl}'], { crl: Buffer.from(await crl.arrayBuffer()) });
    expect(listed).toContain(new X509Certificate(Buffer.from(made.certificate, 'base64')).serialNumber);
    expect(await codeOf(await newKey('SINGLE_USE'))).toBe('0/0');
    const keys = Listed.parse(await operator('key', 'list'));
    expect(keys.find(({ reference }) => reference === used.keyReference.reference)?.state).toBe('LEFT_BEHIND');
    expect(await operator('mac', 'status')).toMatchObject({ current: time, former: 0, secrets: 0, oneTime: 0, seals: 0 });
    for (const command of [['audit', 'verify'], ['state', 'compare'], ['doctor'], ['backup', 'compare']]) await operator(...command);
    await service.daemon.stop();
  });

  it('is in the audit log', async () => {
    const { directory } = read(configFile())['audit'] as { directory: string };
    const log = readdirSync(directory)
      .map((file) => readFileSync(join(directory, file), 'utf8'))
      .join('');
    const { label, serial } = await tokenOf(configFile());
    const records = log.split('\n').filter((line) => line.includes('"command":"token accept"'));
    expect(records).toHaveLength(time);
    expect(records.at(-1)).toContain(`"accepted":{"label":"${label}","serial":"${serial}","macKey":${time},"keys":`);
    // The root on the first token, and the CAs that it certified or that ended, have signed nothing that is not recorded.
    expect(log.match(/"command":"(?:ca issue|ca retire|tsa init)"/g)?.length).toBeGreaterThanOrEqual(time * 4);
    await service.daemon.start();
  });
});
