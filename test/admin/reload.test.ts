import { createPrivateKey, X509Certificate } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Description } from '../../src/quickstart/description.ts';
import { certificateRequest, textOf, type Body } from '../support/api.ts';
import { DaemonProcess, withOwnPorts } from '../support/daemon-process.ts';
import { openssl } from '../support/openssl.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, signetctl as run, type CommandRun } from '../support/signetctl.ts';

const environment = quickstartEnvironment();
let description: Description;
let baseUrl: string;
let daemon: DaemonProcess;
let original: string;

beforeAll(async () => {
  environment.prepare();
  description = environment.description();
  const addresses = withOwnPorts(environment);
  ({ baseUrl } = addresses);
  original = withSecondAuthority(await successor(), readFileSync(description.configFile, 'utf8'));
  writeFileSync(description.configFile, original);
  daemon = new DaemonProcess(description.configFile, addresses.opsUrl);
  await daemon.start();
});

afterEach(async () => {
  writeFileSync(description.configFile, original);
  await runHere('reload');
});

afterAll(async () => {
  await daemon.stop();
  environment.remove();
});

const signetctl = async (...args: string[]): Promise<CommandRun> => run(['--config', description.configFile, ...args]);
const runHere = async (...args: string[]): Promise<CommandRun> => signetctlHere(['--config', description.configFile, ...args]);

/** Another issuing CA under the root; made while the service does not run. */
async function successor(): Promise<object> {
  const files = ['--directory', join(environment.directory, 'pki'), '--name', 'successor'];
  const name = ['--country', 'FR', '--organization', 'signetd quickstart', '--common-name', 'Quickstart Successor CA'];
  const made = await signetctl('--json', 'ca', 'issue', '--by', 'root', ...files, ...name);
  expect([made.status, made.stderr]).toEqual([0, '']);
  return (jsonOf(made) as { certificateAuthorities: { successor: object } }).certificateAuthorities.successor;
}

function withSecondAuthority(authority: object, text: string): string {
  const settings = parse(text) as Settings;
  return stringify({ ...settings, certificateAuthorities: { ...settings.certificateAuthorities, successor: authority } });
}

interface Settings {
  readonly tenants: Record<string, { profile: Record<string, unknown>; certificateAuthority: string; identityProviders: string[] }>;
  readonly identityProviders: Record<string, Record<string, unknown>>;
  readonly certificateAuthorities: Record<string, Record<string, unknown>>;
  readonly listeners: { api: Record<string, unknown>; operations: Record<string, unknown> };
  limits?: Record<string, unknown>;
  readonly state: Record<string, unknown>;
  readonly token: Record<string, unknown>;
}

function change(edit: (settings: Settings) => void): void {
  const settings = parse(original) as Settings;
  edit(settings);
  writeFileSync(description.configFile, stringify(settings));
}

const agents = new Map<string, Agent>();

async function post(client: string, body: string, operation = 'pki/createCertificate'): Promise<{ status: number; body: Body }> {
  const files = description.clients[client];
  const agent =
    agents.get(client) ??
    new Agent({
      keepAlive: true,
      ca: readFileSync(description.caCertificate),
      cert: readFileSync(files?.certificate ?? ''),
      key: readFileSync(files?.key ?? ''),
    });
  agents.set(client, agent);
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' };
    const sent = request(`${baseUrl}/sign/${operation}`, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Body });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function newCertificate(client: string): Promise<X509Certificate> {
  const { body } = await post(client, JSON.stringify(certificateRequest()));
  return new X509Certificate(Buffer.from(textOf(body['certificate']), 'base64'));
}

const curveOf = (certificate: X509Certificate): string | undefined => certificate.publicKey.asymmetricKeyDetails?.namedCurve;

/** The newest record of a reload: the service also has records of what it signs by itself. */
function lastRecord(): Record<string, unknown> {
  const directory = join(environment.directory, 'audit');
  const lines = readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1));
  return JSON.parse(lines.findLast((line) => /"command":"(?:SIGHUP|reload)"/.test(line)) ?? '{}') as Record<string, unknown>;
}

describe('a reload', () => {
  it('by SIGHUP: what tenants get changes for the next request, and the audit log says what changed', async () => {
    expect(curveOf(await newCertificate('other'))).toBe('prime256v1');
    change(({ tenants }) => {
      const other = tenants['other'];
      if (other !== undefined) other.profile['keyType'] = 'P-384';
    });
    daemon.signal('SIGHUP');
    await expect.poll(() => lastRecord()['command']).toBe('SIGHUP');
    expect(lastRecord()).toMatchObject({ changed: ['tenants.other.profile.keyType'] });
    expect(lastRecord()['uid']).toBeUndefined();
    expect(curveOf(await newCertificate('other'))).toBe('secp384r1');
  });

  it('moves a tenant to another authority: older keys sign with the chain that they were issued under', async () => {
    const files = { issuing: 'pki/issuing.pem', root: 'pki/root.pem' };
    const sha1 = (file: string): string =>
      new X509Certificate(readFileSync(join(environment.directory, file))).fingerprint.replaceAll(':', '').toLowerCase();
    const older = await post('other', JSON.stringify(certificateRequest()));
    change(({ tenants }) => {
      const other = tenants['other'];
      if (other !== undefined) other.certificateAuthority = 'successor';
    });
    expect((await runHere('reload')).status).toBe(0);
    const newer = await post('other', JSON.stringify(certificateRequest()));
    const sign = async ({ body }: { body: Body }, trustedCA?: string): Promise<string> => {
      const signed = await post(
        'other',
        JSON.stringify({
          keyReference: body['keyReference'],
          parameters: {
            XP7Signature: {
              XP7Format: 'CXP_7',
              XP7Providers: { CXP7Parameters: { detached: false } },
              ...(trustedCA === undefined ? {} : { trustedCA }),
            },
          },
          inputDocuments: [{ ID: 'd', plainData: { plainValue: 'text' } }],
        }),
        'signature/sign',
      );
      const { body: answer } = signed;
      if (answer['evidenceObject'] === undefined) return textOf(answer['result']?.['resultMinor']);
      const cms = Buffer.from(textOf(answer['evidenceObject']['document']?.['base64Data']?.['base64Value']), 'base64');
      const certificates = openssl(['pkcs7', '-inform', 'DER', '-in', '{cms}', '-print_certs'], { cms });
      return Array.from(certificates.matchAll(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g), ([pem]) => new X509Certificate(pem))
        .map(({ fingerprint }) => fingerprint.replaceAll(':', '').toLowerCase())
        .join(' ');
    };
    expect(await sign(older)).toContain(sha1(files.issuing));
    expect(await sign(older, sha1(files.issuing))).toContain(sha1(files.issuing));
    expect(await sign(newer)).not.toContain(sha1(files.issuing));
    expect(await sign(newer, sha1(files.root))).not.toBe('103');
    expect(await sign(newer, sha1(files.issuing))).toBe('103');
  });

  it('changes what is accepted of identity providers: a token of one use makes one certificate', async () => {
    const provider = description.identityProvider;
    if (provider === undefined) throw new Error('the quickstart has an identity provider');
    const key = createPrivateKey(readFileSync(provider.signingKey));
    const create = async (jti?: string): Promise<[string, string]> => {
      const claims = {
        iss: provider.issuer,
        aud: provider.audience,
        name: 'Zoé Martin',
        exp: Math.floor(Date.now() / 1000) + 60,
        ...(jti === undefined ? {} : { jti }),
      };
      const token = await new SignJWT(claims).setProtectedHeader({ alg: provider.algorithm, kid: provider.keyId }).sign(key);
      tokens.push(token);
      const { body } = await post('other', JSON.stringify(certificateRequest({ PKCS10: undefined, JWT: { token } })));
      return [textOf(body['result']?.['minorCode']), textOf(body['result']?.['message'])];
    };
    const tokens: string[] = [];
    expect([await create('T-1'), await create('T-1')].map(([code]) => code)).toEqual(['0', '0']);
    change(({ identityProviders }) => {
      identityProviders['quickstart'] = { ...identityProviders['quickstart'], oneTime: true };
    });
    expect((await runHere('reload')).status).toBe(0);
    const at = '/certificationRequestInfo/JWT/token: ';
    const answers = await Promise.all(Array.from({ length: 6 }, async () => create('T-2')));
    expect(answers.toSorted(([one], [other]) => Number(one) - Number(other))).toEqual([
      ['0', 'success'],
      ...Array.from({ length: 5 }, () => ['213', `${at}the token is already used, and is valid for one certificate only`]),
    ]);
    expect(await create('T-3')).toEqual(['0', 'success']);
    expect((await create())[0]).toBe('213');
    change(({ tenants }) => {
      const other = tenants['other'];
      if (other !== undefined) other.identityProviders = [];
    });
    expect((await runHere('reload')).status).toBe(0);
    expect(await create('T-4')).toEqual([
      '104',
      '/certificationRequestInfo/JWT: no identity provider is configured for the tenant; use PKCS10',
    ]);
    const audit = join(environment.directory, 'audit');
    const records = readdirSync(audit).map((name) => readFileSync(join(audit, name), 'utf8'));
    expect(records.join('')).toContain(`"issuer":"${provider.issuer}","id":"T-2"`);
    for (const token of tokens) {
      for (const text of records) expect(text.includes(token.slice(-40))).toBe(false);
    }
  });

  it('gives no tenant to the root, whose key signs no certificates of subscribers', async () => {
    change(({ tenants }) => {
      const other = tenants['other'];
      if (other !== undefined) other.certificateAuthority = 'root';
    });
    const { status, stderr } = await runHere('reload');
    expect([status, stderr]).toEqual([5, expect.stringContaining(`tenants.other.certificateAuthority: "root" has the key of a root`)]);
  });

  it('applies nothing if one member is wrong, and names the fault', async () => {
    change(({ tenants, certificateAuthorities }) => {
      const other = tenants['other'];
      if (other !== undefined) other.profile['keyType'] = 'P-384';
      certificateAuthorities['issuing'] = { ...certificateAuthorities['issuing'], keyId: `49${'0'.repeat(30)}ff` };
    });
    const { status, stderr } = await signetctl('reload');
    const fault = expect.stringMatching(
      /signetd\.yaml:\d+:\d+: certificateAuthorities\.issuing\.keyId: the token has no such key/,
    ) as string;
    expect([status, stderr]).toEqual([5, fault]);
    expect(curveOf(await newCertificate('other'))).toBe('prime256v1');
    expect(lastRecord()).toMatchObject({ command: 'reload', uid: process.getuid?.(), fault: expect.any(String) as string });
    const ill = await runHere('status');
    expect(ill.stderr).toContain('the last reload was refused');
  });

  it('names every member that cannot change while it runs', async () => {
    change(({ listeners, state, token, tenants }) => {
      listeners.operations['port'] = 1;
      state['path'] = '/elsewhere/state.sqlite';
      token['threads'] = 3;
      const other = tenants['other'];
      if (other !== undefined) other.profile['keyType'] = 'P-384';
    });
    const { status, stderr } = await runHere('reload');
    expect(status).toBe(5);
    const named = stderr
      .split('\n')
      .flatMap((line) => /signetd\.yaml:\d+:\d+: (\S+): this cannot change while signetd runs; restart it$/.exec(line)?.[1] ?? []);
    expect(named).toEqual(['listeners.operations.port', 'state.path', 'token.threads']);
    expect(curveOf(await newCertificate('other'))).toBe('prime256v1');
  });

  it('names a state store of another kind once, and no member that nobody wrote', async () => {
    for (const state of [
      { kind: 'postgresql', host: '/run/postgresql', database: 'signetd', user: 'signetd' },
      { kind: 'postgresql', host: '/run/other', database: 'other', user: 'other', statementTimeoutSeconds: 9 },
    ]) {
      change((settings) => {
        Object.assign(settings, { state });
      });
      const { status, stderr } = await runHere('reload');
      const faults = stderr.split('\n').filter((line) => line !== '');
      expect([status, faults]).toEqual([5, [expect.stringMatching(/: state: this cannot change while signetd runs; restart it$/)]]);
    }
  });

  it('reports every fault of an invalid file, and keeps the service running', async () => {
    writeFileSync(description.configFile, `${original}\nnonsense: 1\n`);
    const { status, stderr } = await runHere('reload');
    expect([status, stderr]).toEqual([5, expect.stringContaining('nonsense')]);
    expect(curveOf(await newCertificate('other'))).toBe('prime256v1');
  });

  it('changes limits at once', async () => {
    change((settings) => {
      settings.limits = {
        ...settings.limits,
        jsonBodyMaxBytes: 1000,
        otpsPerMinute: 1,
        messagesPerMinute: 1,
        keptAnswersMaxBytesPerClient: 1000,
      };
    });
    const { stdout, stderr } = await signetctl('reload');
    expect(stderr).toBe('');
    for (const limit of ['jsonBodyMaxBytes', 'otpsPerMinute', 'messagesPerMinute', 'keptAnswersMaxBytesPerClient'])
      expect(stdout).toContain(`limits.${limit}`);
    expect((await post('other', JSON.stringify({ requestID: 'x'.repeat(1000) }))).status).toBe(413);
  });

  it('shows new connections the new server certificate, and refuses a key that is another one', async () => {
    const { certificate, key } = (parse(original) as Settings).listeners.api;
    const [certificateFile, keyFile] = [String(certificate), String(key)];
    for (const file of [certificateFile, keyFile]) copyFileSync(file, `${file}.old`);
    const authority = { ca: readFileSync(description.caCertificate), cakey: readFileSync(join(environment.directory, 'tls', 'ca.key')) };
    const newKey = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']);
    const signing = ['req', '-x509', '-new', '-key', '{key}', '-CA', '{ca}', '-CAkey', '{cakey}', '-days', '2', '-subj', '/CN=localhost'];
    const pem = openssl([...signing, '-addext', 'subjectAltName=IP:127.0.0.1'], { key: newKey, ...authority });
    const before = await serverSerial();
    try {
      writeFileSync(certificateFile, pem);
      const mismatch = await runHere('reload');
      expect([mismatch.status, mismatch.stderr]).toEqual([5, expect.stringContaining('is not the key of')]);
      expect(await serverSerial()).toBe(before);
      writeFileSync(keyFile, newKey, { mode: 0o600 });
      expect((await runHere('reload')).status).toBe(0);
      expect(await serverSerial()).toBe(new X509Certificate(pem).serialNumber);
      // The connections from before go on.
      expect(curveOf(await newCertificate('other'))).toBe('prime256v1');
    } finally {
      for (const file of [certificateFile, keyFile]) copyFileSync(`${file}.old`, file);
    }
  });

  it('under load: every request sees one configuration, the old one or the new one', { timeout: 120_000 }, async () => {
    const kinds = [
      { extendedKeyUsage: ['1.3.6.1.5.5.7.3.4'], defaultValidityMinutes: 10 },
      { extendedKeyUsage: [], defaultValidityMinutes: 20 },
    ];
    const seen: string[] = [];
    const end = new AbortController();
    const caller = async (): Promise<void> => {
      while (!end.signal.aborted) {
        const { validFromDate, validToDate, keyUsage } = await newCertificate('other');
        seen.push(`${(validToDate.getTime() - validFromDate.getTime()) / 60_000} ${(keyUsage ?? []).join()}`);
      }
    };
    const apply = async (profile: Record<string, unknown>): Promise<void> => {
      change(({ tenants }) => {
        Object.assign(tenants['other']?.profile ?? {}, profile);
      });
      expect((await runHere('reload')).status).toBe(0);
    };
    await apply(kinds[0] ?? {});
    const callers = [caller(), caller(), caller()];
    for (let times = 1; times <= 8; times += 1) await apply(kinds[times % 2] ?? {});
    end.abort();
    await Promise.all(callers);
    expect([...new Set(seen)].toSorted()).toEqual(['10 1.3.6.1.5.5.7.3.4', '20 ']);
  });

  it('refuses the clients of a tenant that went, and serves them again when it is back', async () => {
    change(({ tenants }) => {
      delete tenants['other'];
    });
    expect((await runHere('reload')).status).toBe(0);
    expect((await post('other', '{}')).status).toBe(403);
    expect((await runHere('doctor')).stdout).toContain('other is refused, since no tenant "other" is configured');
    writeFileSync(description.configFile, original);
    await runHere('reload');
    expect((await post('other', '{}')).status).toBe(200);
  });
});

async function serverSerial(): Promise<string> {
  const files = description.clients['app'];
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        host: '127.0.0.1',
        port: Number(new URL(baseUrl).port),
        ca: readFileSync(description.caCertificate),
        cert: readFileSync(files?.certificate ?? ''),
        key: readFileSync(files?.key ?? ''),
      },
      () => {
        resolve(socket.getPeerX509Certificate()?.serialNumber ?? 'none');
        socket.destroy();
      },
    );
    socket.once('error', reject);
  });
}
