import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { Description } from '../../src/quickstart/description.ts';
import { noSmallDisk, SmallDisk } from '../audit/small-disk.ts';
import { openssl } from '../support/openssl.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { hourMs, ScratchAuthority } from '../support/scratch-authority.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { skipNote } from '../support/skip-note.ts';

interface Settings {
  listeners: { api: { certificate: string; key: string; port: number; clientRevocationLists?: string[] } };
  token: Record<string, unknown>;
  state: { path: string };
  audit: { directory: string };
  tenants: Record<string, Record<string, unknown>>;
  certificateAuthorities: Record<string, { certificate: string; keyId: string }>;
}

interface Found {
  readonly part: string;
  readonly state: string;
  readonly text: string;
}

const environment = quickstartEnvironment();
let description: Description;
let original: string;

// A stopped service: a fault is often the reason why it does not start.
beforeAll(() => {
  environment.prepare();
  description = environment.description();
  original = readFileSync(description.configFile, 'utf8');
});

afterAll(() => {
  environment.remove();
});

const inside = (name: string): string => join(environment.directory, name);

/** What the doctor finds with the changed configuration. Its text and its JSON say the same, each fault once. */
async function foundWith(change: (settings: Settings) => void = () => undefined): Promise<Found[]> {
  const settings = parse(original) as Settings;
  change(settings);
  writeFileSync(description.configFile, stringify(settings));
  try {
    const { status, stdout, stderr } = await signetctlHere(['--config', description.configFile, 'doctor']);
    const asJson = await signetctlHere(['--json', '--config', description.configFile, 'doctor']);
    const found = JSON.parse(asJson.stdout) as Found[];
    expect([status, asJson.status, stderr]).toEqual([1, 1, '']);
    const faults = found.filter(({ state }) => state === 'fault');
    expect(stdout.split('\n').filter((line) => line.startsWith('fault ')).length).toBe(faults.length);
    expect((JSON.parse(asJson.stderr) as { error: { faults: string[] } }).error.faults).toEqual(
      faults.map(({ part, text }) => `${part}: ${text}`),
    );
    return found;
  } finally {
    writeFileSync(description.configFile, original);
  }
}

async function faultsWith(change?: (settings: Settings) => void): Promise<string[]> {
  return (await foundWith(change)).filter(({ state }) => state === 'fault').map(({ part, text }) => `${part}: ${text}`);
}

/** Makes a certificate of its own and its key; with `days` below zero, it has expired. */
function certificate(name: string, days = 300): { certificate: string; key: string } {
  const files = { certificate: inside(`${name}.pem`), key: inside(`${name}.key`) };
  const key = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']);
  writeFileSync(files.key, key, { mode: 0o600 });
  const request = openssl(['req', '-new', '-key', '{key}', '-subj', `/CN=${name}`], { key });
  writeFileSync(
    files.certificate,
    openssl(['x509', '-req', '-in', '{request}', '-signkey', '{key}', '-days', String(days)], { request, key }),
  );
  return files;
}

describe('signetctl doctor, of a planted fault', () => {
  it('of none: says how to start the service', async () => {
    const found = await foundWith();
    expect(found.filter(({ state }) => state === 'fault')).toEqual([
      expect.objectContaining({ part: 'service', text: expect.stringMatching(/not running.*: run systemctl restart signetd/) as string }),
    ]);
    expect(found.filter(({ state }) => state === 'good').map(({ part }) => part)).toEqual(
      expect.arrayContaining(['state store', 'audit log', 'ports', 'token', 'certificates']),
    );
  });

  it('a misspelt member: names the place and the member that is meant', async () => {
    const line =
      stringify(parse(original))
        .split('\n')
        .findIndex((text) => text.startsWith('token:')) + 2;
    expect(
      await faultsWith((settings) => {
        settings.token = { lable: 'x', ...settings.token };
      }),
    ).toEqual([expect.stringMatching(new RegExp(`^configuration: .*:${line}:3: token\\.lable: unknown member; did you mean "label"\\?$`))]);
  });

  it('a certificate that cannot be read: does not call the certificates good', async () => {
    const file = inside('unreadable.pem');
    writeFileSync(file, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    const found = await foundWith(({ listeners }) => {
      listeners.api.certificate = file;
    });
    expect(found.filter(({ state }) => state === 'fault').map(({ text }) => text)).toEqual([
      expect.stringMatching(/:\d+:\d+: listeners\.api\.certificate: .*unreadable\.pem: certificate 1 cannot be parsed: replace the file$/),
    ]);
    expect(found.find(({ part }) => part === 'certificates')).toBe(undefined);
  });

  it('an expired certificate of the API', async () => {
    const { certificate: file, key } = certificate('expired', -1);
    expect(
      await faultsWith(({ listeners }) => {
        Object.assign(listeners.api, { certificate: file, key });
      }),
    ).toEqual([
      expect.stringMatching(
        /listeners\.api\.certificate: .*expired\.pem: the certificate expired on .*: replace it, then run signetctl reload$/,
      ),
    ]);
  });

  it('a key that belongs to another certificate', async () => {
    const { key } = certificate('other');
    expect(
      await faultsWith(({ listeners }) => {
        listeners.api.key = key;
      }),
    ).toEqual([
      expect.stringMatching(
        /listeners\.api\.key: .*other\.key: this is not the key of .*: install the key that belongs to it, or replace both$/,
      ),
    ]);
  });

  it('a CRL of the clients that has expired', async () => {
    const tls = inside('tls');
    const existing = { certificate: join(tls, 'ca.pem'), key: join(tls, 'ca.key') };
    const list = new ScratchAuthority(environment.directory, 'tls', { existing }).revocationList({
      from: new Date(Date.now() - 2 * hourMs),
      until: new Date(Date.now() - hourMs),
    });
    writeFileSync(inside('expired.crl'), list);
    expect(
      await faultsWith(({ listeners }) => {
        listeners.api.clientRevocationLists = [inside('expired.crl')];
      }),
    ).toEqual([
      expect.stringMatching(/clientRevocationLists: the CRL of .* expired on .*: its clients are refused until you install a new one/),
    ]);
  });

  it.each([
    [
      'state.sqlite',
      0o644,
      /state\.path: .*state\.sqlite(?:, .*-wal)?: others may read or change (?:it|them) \(mode 0644\); chmod 0600 (?:it|them)$/,
    ],
    ['tls/server.key', 0o644, /listeners\.api\.key: .*server\.key: other users can read this file \(mode 0644\); run chmod 0600$/],
    ['token/pin', 0o644, /token\.pin: .*: others may read this file; chmod 0600 it$/],
    ['audit', 0o755, /audit\.directory: .*audit: others may read or change it \(mode 0755\); chmod 0700 it$/],
  ])('%s with mode %o', async (name, mode, fault) => {
    const before = name === 'audit' ? 0o700 : 0o600;
    chmodSync(inside(name), mode);
    try {
      expect(await faultsWith()).toEqual([expect.stringMatching(fault)]);
    } finally {
      chmodSync(inside(name), before);
      // The files beside a database that was read have its mode.
      rmSync(inside('state.sqlite-wal'), { force: true });
    }
  });

  it('a clock that went back', async () => {
    const [newest = ''] = readdirSync(inside('audit'))
      .filter((name) => name.endsWith('.jsonl'))
      .toSorted()
      .toReversed();
    const file = join(inside('audit'), newest);
    const lines = readFileSync(file, 'utf8');
    const last = JSON.parse(lines.trim().split('\n').at(-1) ?? '') as object;
    // As after a start with the clock a day ahead.
    appendFileSync(file, `${JSON.stringify({ ...last, time: new Date(Date.now() + 24 * hourMs).toISOString() })}\n`);
    try {
      expect(await faultsWith()).toEqual([
        expect.stringMatching(/^clock: it went back: the newest audit record is from .*: set the clock, then find out why it went back/),
      ]);
    } finally {
      writeFileSync(file, lines);
    }
  });

  it.skipIf(noSmallDisk !== undefined)(`a full disk under the audit log${skipNote(noSmallDisk)}`, async () => {
    const disk = new SmallDisk(24 * 1024 * 1024);
    try {
      cpSync(inside('audit'), join(disk.directory, 'audit'), { recursive: true });
      chmodSync(join(disk.directory, 'audit'), 0o700);
      disk.fill(1);
      expect(
        await faultsWith(({ audit }) => {
          audit.directory = join(disk.directory, 'audit');
        }),
      ).toEqual([expect.stringMatching(/^audit log: audit\.directory: the disk of .* has only \d+ KiB left: free space on it$/)]);
    } finally {
      disk.remove();
    }
  });

  it('a PKCS#11 module that is not there', async () => {
    expect(
      await faultsWith(({ token }) => {
        token['modulePath'] = '/usr/lib/absent.so';
      }),
    ).toEqual([expect.stringMatching(/^configuration: .* token\.modulePath: there is no file \/usr\/lib\/absent\.so/)]);
  });

  it('a token that is not there', async () => {
    expect(
      await faultsWith(({ token }) => {
        token['label'] = 'absent';
      }),
    ).toEqual([expect.stringMatching(/^token: .*absent.*: check token\.label, token\.profile and the connection to the device/)]);
  });

  it('a wrong PIN, which is tried once', async () => {
    const pin = inside('wrong-pin');
    writeFileSync(pin, '999999\n', { mode: 0o600 });
    const faults = await faultsWith(({ token }) => {
      token['pin'] = `file:${pin}`;
    });
    expect(faults).toEqual([
      // By what doctor looks at first, and then by what it looks at next, which does not try it again.
      expect.stringMatching(/^token: the token refuse(?:s the|d this) PIN.*: the page lost-pin\.md has the steps/),
    ]);
    expect(faults.join()).not.toContain('999999');
  });

  it('a key of an authority that is missing on the token', async () => {
    const { certificateAuthorities, token } = parse(original) as Settings;
    const keyId = certificateAuthorities['issuing']?.keyId ?? '';
    const kept = inside('kept-token');
    cpSync(inside('token'), kept, { recursive: true });
    try {
      execFileSync(
        'pkcs11-tool',
        [
          ...['--module', '/usr/lib/softhsm/libsofthsm2.so', '--token-label', String(token['label'])],
          ...['--login', '--pin', readFileSync(inside('token/pin'), 'utf8').trim()],
          ...['--delete-object', '--type', 'privkey', '--id', keyId],
        ],
        { env: { ...process.env, SOFTHSM2_CONF: inside('token/softhsm2.conf') }, stdio: 'ignore' },
      );
      expect(await faultsWith()).toEqual([
        expect.stringMatching(
          new RegExp(
            `^token: certificateAuthorities\\.issuing\\.keyId: the token has no key ${keyId}: correct the keyId .*, or restore the token`,
          ),
        ),
      ]);
    } finally {
      rmSync(inside('token'), { recursive: true });
      renameSync(kept, inside('token'));
    }
  });

  it('a port that another process has', async () => {
    const { port } = (parse(original) as Settings).listeners.api;
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    try {
      expect(await faultsWith()).toEqual([
        expect.stringMatching(
          new RegExp(
            `^ports: listeners\\.api: port ${port} is taken by \\S+.* \\(process ${process.pid}\\): stop it, or change listeners\\.api\\.port$`,
          ),
        ),
      ]);
    } finally {
      server.close();
    }
  });

  it('a state store that is none', async () => {
    const file = inside('damaged.sqlite');
    writeFileSync(file, 'x'.repeat(5000), { mode: 0o600 });
    expect(
      await faultsWith(({ state }) => {
        state.path = file;
      }),
    ).toEqual([expect.stringMatching(/^state store: it cannot be read \(.*\): restore it from a backup$/)]);
  });
});
