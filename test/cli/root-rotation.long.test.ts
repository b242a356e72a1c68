import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { signing } from '../idempotency/callers.ts';
import { judged, noValidator } from '../support/judge.ts';
import { openssl } from '../support/openssl.ts';
import { verifiedCades } from '../support/openssl-cms.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { smallPdf } from '../support/small-pdf.ts';
import { skipNote } from '../support/skip-note.ts';
import { jsonOf, signetctl, type CommandRun } from '../support/signetctl.ts';

type Sections = Record<string, Record<string, unknown>>;
type Config = Record<string, unknown> & { certificateAuthorities: Sections; timeStampAuthority: Record<string, unknown> };
const Sectioned = z.looseObject({ certificateAuthorities: z.record(z.string(), z.record(z.string(), z.unknown())) });
const Signed = z.looseObject({ result: z.looseObject({ resultMajor: z.literal(0) }) });

let service: OwnService;
let files: string;
let publicUrl: string;
let key: { readonly reference: string; readonly password: string };
const content = Buffer.from('a contract\n');

beforeAll(async () => {
  service = await OwnService.start();
  files = mkdtempSync(join(tmpdir(), 'signetd-roots-'));
  publicUrl = (configOf()['listeners'] as { public: { port: number } }).public.port.toString();
  publicUrl = `http://127.0.0.1:${publicUrl}`;
  key = await newKey();
}, 300_000);
afterAll(async () => {
  await service.remove();
  rmSync(files, { recursive: true, force: true });
});

const configOf = (): Config => parse(readFileSync(service.description.configFile, 'utf8')) as Config;
/** Takes over what a command printed, as an operator does: members replace those of the same name. */
function takeOver(printed: unknown): void {
  const config = configOf();
  for (const [name, section] of Object.entries(Sectioned.parse(printed).certificateAuthorities))
    config.certificateAuthorities[name] = { ...config.certificateAuthorities[name], ...section };
  writeFileSync(service.description.configFile, stringify(config));
}
const ctl = async (...command: string[]): Promise<CommandRun> =>
  signetctl(['--config', service.description.configFile, '--json', ...command]);
async function done(...command: string[]): Promise<unknown> {
  const run = await ctl(...command);
  expect(run.status, run.stderr).toBe(0);
  return jsonOf(run);
}
const post = async (operation: string, body: object): Promise<unknown> => JSON.parse(await service.post(operation, body));
async function newKey(): Promise<typeof key> {
  const Made = z.looseObject({ keyReference: z.object({ reference: z.string(), password: z.string() }) });
  return Made.parse(await post('pki/createCertificate', newCertificate())).keyReference;
}

/** Formats of signatures, with what they sign. */
const formats = {
  CAdES: { format: 'CXP_7', document: content, options: { XP7Providers: { CXP7Parameters: { detached: true } } }, fileName: 'a.p7s' },
  XAdES: { format: 'EXXP_7', document: Buffer.from("<invoice xmlns='urn:example:invoice'/>"), options: {}, fileName: 'a.xml' },
  PAdES: { format: 'PXP_7', document: smallPdf(), options: {}, fileName: 'a.pdf' },
} as const;
type Format = keyof typeof formats;

/** A signature of level LT, which holds the chain and its revocation data; of CAdES, a detached one. */
async function signed(by = key, name: Format = 'CAdES'): Promise<Buffer> {
  const { format, document, options } = formats[name];
  const parameters = { XP7Signature: { XP7Format: format, ...options, timeStamp: {}, longTermValidation: {} } };
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: document.toString('base64') } }];
  const answer = JSON.stringify(await post('signature/sign', { keyReference: by, parameters, inputDocuments }));
  const [, base64 = ''] = /"base64Value":"([A-Za-z0-9+/=]+)"/.exec(answer) ?? [];
  expect(base64, answer).not.toBe('');
  return Buffer.from(base64, 'base64');
}
async function signedInAll(): Promise<ReadonlyMap<Format, Buffer>> {
  const made = new Map<Format, Buffer>();
  for (const name of ['CAdES', 'XAdES', 'PAdES'] as const) made.set(name, await signed(key, name));
  return made;
}

/** What the other validators say of signatures in all formats. `more`: certificates that the receiver has besides. */
async function verdicts(signatures: ReadonlyMap<Format, Buffer>, root: string, more: readonly string[] = []): Promise<string[]> {
  writeFileSync(fileOf('content'), content);
  const requests = [...signatures].map(([name, bytes]) => {
    const file = fileOf(formats[name].fileName);
    writeFileSync(file, bytes);
    const detached = name === 'CAdES' ? { content: [fileOf('content')] } : {};
    const request = { file, ...detached, trust: [root] };
    // With certificates of its own, the receiver asks for their status, which is not in the signature.
    return more.length > 0 ? { ...request, certificates: [...more], online: true } : { ...request, require: 'LT' as const };
  });
  return (await judged(requests)).map(({ verdict, validators }) => {
    // pyHanko and OpenSSL look for the signer alone among these certificates.
    const builders = validators.filter(({ name }) => more.length === 0 || ['dss', 'bouncycastle'].includes(name));
    const others = builders.filter((one) => one.verdict !== 'valid');
    return (more.length > 0 || verdict === 'valid') && builders.length > 1 && others.length === 0
      ? 'valid'
      : JSON.stringify({ verdict, others });
  });
}

const verifies = (cms: Buffer, root: string): boolean => {
  try {
    verifiedCades(cms, readFileSync(root, 'utf8'), content);
    return true;
  } catch {
    return false;
  }
};
const crlOf = async (name: string): Promise<string> => {
  const response = await fetch(`${publicUrl}/pki/${name}.crl`);
  expect(response.status).toBe(200);
  return openssl(['crl', '-inform', 'DER', '-noout', '-text', '-in', '{crl}'], { crl: Buffer.from(await response.arrayBuffer()) });
};
const fileOf = (name: string): string => join(files, name);
const organisation = ['--country', 'FR', '--organization', 'Example SA'];

/** Signs all the time until it is told to end. Answers what went wrong. */
function signingMeanwhile(): { end: () => Promise<{ wrong: string[]; right: number }> } {
  const seen = { isOver: false, right: 0, wrong: [] as string[] };
  const working = (async () => {
    while (!seen.isOver) {
      try {
        Signed.parse(await post('signature/sign', signing(key)));
        seen.right += 1;
      } catch (error) {
        seen.wrong.push(String(error));
      }
      await delay(25);
    }
  })();
  return {
    end: async () => {
      seen.isOver = true;
      await working;
      return seen;
    },
  };
}

describe.each([
  ['root', 'root-2'],
  ['root-2', 'root-3'],
])('the root with a new key: from %s to %s', (old, next) => {
  let oldRoot: string;
  let before: Buffer;
  let earlier: ReadonlyMap<Format, Buffer>;

  it('makes the new root and the certificates between both, each valid under the other', async () => {
    oldRoot = String(configOf().certificateAuthorities[old]?.['certificate']);
    before = await signed();
    earlier = await signedInAll();
    expect(verifies(before, oldRoot)).toBe(true);
    await service.daemon.stop();
    const args = ['ca', 'new-root', '--replaces', old, '--name', next, '--directory', files, ...organisation];
    const sameName = new X509Certificate(readFileSync(oldRoot)).subject;
    const [, cn = ''] = /CN=(.*)/.exec(sameName) ?? [];
    if (sameName.includes('O=Example SA')) expect((await ctl(...args, '--common-name', cn)).stderr).toContain('the new root needs its own');
    const made = await done(...args, '--common-name', `Root ${next}`, '--public-url', publicUrl);
    const again = await ctl(...args, '--common-name', `Root ${next}`);
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('nothing was made')]);
    takeOver(made);
    expect((await ctl(...args, '--common-name', `Root ${next}`)).stderr).toContain('has a certificate authority');
    await service.daemon.start();
    const strict = ['verify', '-x509_strict', '-check_ss_sig'];
    expect(openssl([...strict, '-CAfile', fileOf(`${next}.pem`), fileOf(`${next}.pem`)])).toContain('OK');
    expect(openssl([...strict, '-CAfile', oldRoot, fileOf(`${next}-by-${old}.pem`)])).toContain('OK');
    expect(openssl([...strict, '-CAfile', fileOf(`${next}.pem`), fileOf(`${old}-by-${next}.pem`)])).toContain('OK');
  });

  it('publishes the CRLs of both roots', async () => {
    expect(await crlOf(old)).toContain('Next Update');
    expect(await crlOf(next)).toContain(`CN=Root ${next}`.replace('=', ' = '));
  });

  it('the certificate of the issuing CA under the new root is taken over without a failed request', async () => {
    const load = signingMeanwhile();
    const name = `issuing-by-${next}.pem`;
    takeOver(
      await done(
        'ca',
        'certify',
        '--authority',
        'issuing',
        '--by',
        next,
        '--main',
        '--directory',
        files,
        '--file',
        name,
        '--public-url',
        publicUrl,
      ),
    );
    await done('tsa', 'certify', '--by', next, '--directory', files, '--file', `tsa-by-${next}.pem`, '--public-url', publicUrl).then(
      (printed) => {
        const config = configOf();
        config.timeStampAuthority = (printed as { timeStampAuthority: Record<string, unknown> }).timeStampAuthority;
        writeFileSync(service.description.configFile, stringify(config));
      },
    );
    await done('reload');
    await delay(1000);
    const { wrong, right } = await load.end();
    expect(wrong).toEqual([]);
    expect(right).toBeGreaterThan(10);
  });

  it('a signature verifies for receivers who trust either root alone, with keys of before and of now', async () => {
    for (const by of [key, await newKey()]) {
      const cms = await signed(by);
      expect([verifies(cms, oldRoot), verifies(cms, fileOf(`${next}.pem`))]).toEqual([true, true]);
    }
    expect([verifies(before, oldRoot), verifies(before, fileOf(`${next}.pem`))]).toEqual([true, false]);
  });

  it.skipIf(noValidator !== undefined)(
    `the other validators accept them under either root, and those of before with OldWithNew${skipNote(noValidator)}`,
    async () => {
      const [now, own] = [await signedInAll(), fileOf(`${next}.pem`)];
      const valid = ['valid', 'valid', 'valid'];
      expect(await verdicts(now, oldRoot)).toEqual(valid);
      expect(await verdicts(now, own)).toEqual(valid);
      expect(await verdicts(earlier, oldRoot)).toEqual(valid);
      expect(await verdicts(earlier, own)).not.toContain('valid');
      expect(await verdicts(earlier, own, [fileOf(`${old}-by-${next}.pem`)])).toEqual(valid);
    },
  );

  it('the old root is retired only when nothing ends at it; its last CRL is served on, and its key is gone', async () => {
    await service.daemon.stop();
    const retiring = ['ca', 'retire', '--authority', old, '--directory', files, '--file', `${old}-last.crl`];
    const early = await ctl(...retiring);
    expect([early.status, early.stderr]).toEqual([5, expect.stringContaining('certificateAuthorities.issuing.chain still ends at it')]);
    const config = configOf();
    const own = fileOf(`${next}.pem`);
    config.certificateAuthorities['issuing'] = { ...config.certificateAuthorities['issuing'], chain: [own], crossCertificates: [] };
    config.certificateAuthorities[next] = { ...config.certificateAuthorities[next], crossCertificates: [] };
    config.timeStampAuthority = { ...config.timeStampAuthority, chain: [own] };
    writeFileSync(service.description.configFile, stringify(config));
    takeOver(await done(...retiring));
    expect((await done(...retiring, '--destroy-key')) as object).toMatchObject({ isKeyDestroyed: true, crl: null });
    for (let round = 0; round < 2; round += 1) {
      await service.daemon.start();
      expect(await crlOf(old)).toContain('Next Update: Dec 31 23:59:59 9999 GMT');
      if (round === 0) await service.daemon.stop();
    }
    const cms = await signed();
    expect([verifies(cms, oldRoot), verifies(cms, own)]).toEqual([false, true]);
    expect(readFileSync(fileOf(`${old}-last.crl`), 'utf8')).toContain('BEGIN X509 CRL');
    const verified = await ctl('audit', 'verify');
    expect(verified.status, verified.stdout + verified.stderr).toBe(0);
    expect((await ctl('config', 'check')).stderr).not.toContain('fault');
  });
});
