import { createPublicKey, verify } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { tenantId } from '../../src/clients/caller.ts';
import { loadConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { DigitalIdentities } from '../../src/twoddoc/identities/digital-identities.ts';
import { certifyKey } from '../support/identity-certificate.ts';
import { openssl } from '../support/openssl.ts';
import { ScratchAuthority } from '../support/scratch-authority.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, type CommandRun } from '../support/signetctl.ts';
import { recordingLog } from '../support/silent-log.ts';
import { privateKeysOf } from '../support/token-listing.ts';

const demo = tenantId('demo');
const zone = Buffer.from('DC04FR99ABCD267E267E0101FR26FR');

let token: ScratchToken;
let authority: ScratchAuthority;
let configPath: string;
let statePath: string;
/** Of what one test makes. */
let directory: string;

interface Added {
  readonly request: string;
  readonly keyId: string;
  readonly password: string;
  readonly tenants: object;
}

beforeAll(() => {
  token = scratchToken();
  authority = new ScratchAuthority(token.directory, 'FR99');
  configPath = join(token.directory, 'signetd.yaml');
  statePath = join(token.directory, 'state.sqlite');
});
afterAll(() => {
  token.remove();
});
beforeEach(() => {
  configure();
  directory = mkdtempSync(join(token.directory, 'identity-'));
});

function configure(identities: readonly object[] = [], more: object = {}): void {
  const { token: section } = JSON.parse(readFileSync(token.configPath, 'utf8')) as { token: object };
  const tenant = { certificateAuthority: 'issuing', profile: { keyType: 'P-256' } };
  const config = {
    listeners: { api: { certificate: 'a', key: 'b', clientCertificateAuthority: 'c' } },
    token: section,
    state: { path: statePath },
    audit: { directory: join(token.directory, 'audit') },
    admin: { socketPath: join(token.directory, 'admin.sock') },
    certificateAuthorities: { issuing: { certificate: 'ca.pem', keyId: `49${'0'.repeat(32)}` } },
    tenants: { demo: { ...tenant, twoDDoc: { identities, ...more } }, other: tenant },
  };
  writeFileSync(configPath, stringify(config), { mode: 0o600 });
}

const run = async (...args: string[]): Promise<CommandRun> => signetctlHere(['--config', configPath, ...args]);
const adding = (certificateId: string, ...more: string[]): string[] => [
  ...['twoddoc', 'identity', 'add', '--tenant', 'demo', '--ca', 'FR99', '--certificate-id', certificateId],
  ...['--organization', 'Société Exemple', '--siren', '732829320', '--directory', directory, ...more],
];
const add = async (certificateId: string, ...more: string[]): Promise<CommandRun> => run(...adding(certificateId, ...more));
const keys = (): string[] => privateKeysOf({ label: 'test', pin: token.pin, softhsmConfig: token.environment.SOFTHSM2_CONF }).toSorted();
const publicKeyOf = (request: string): Uint8Array => {
  const pem = openssl(['req', '-in', request, '-noout', '-pubkey']);
  return createPublicKey(pem).export({ format: 'der', type: 'spki' });
};

async function states(): Promise<Record<string, string>> {
  const listed = jsonOf(await run('--json', 'twoddoc', 'identity', 'list')) as { certificateId: string; state: string }[];
  return Object.fromEntries(listed.map(({ certificateId, state }) => [certificateId, state]));
}

describe('signetctl twoddoc identity', () => {
  it.each([
    ['P-256', 'ecdsa-with-SHA256', 'sha256'],
    ['P-384', 'ecdsa-with-SHA384', 'sha384'],
    ['P-521', 'ecdsa-with-SHA512', 'sha512'],
  ] as const)(
    'makes a key on %s whose request OpenSSL verifies, and that signs with the password shown',
    async (curve, signature, hash) => {
      const certificateId = `A${curve.slice(2)}`;
      const made = await run('--json', ...adding(certificateId, '--curve', curve, '--types', '01,A0'));
      expect([made.status, made.stderr]).toEqual([0, expect.stringContaining('the password is shown only this once')]);
      const added = jsonOf(made) as Added;
      const text = openssl(['req', '-in', added.request, '-verify', '-noout', '-text', '-nameopt', 'RFC2253,utf8,-esc_msb']);
      expect(text).toContain('self-signature verify OK');
      expect(text).toContain(`Subject: CN=${certificateId},OU=0002 732829320,O=Société Exemple,C=FR\n`);
      expect(text).toContain(`Signature Algorithm: ${signature}`);
      expect(keys()).toContain(added.keyId);

      const publicKeyInfo = publicKeyOf(added.request);
      const certificate = certifyKey(authority, directory, certificateId, publicKeyInfo);
      configure([{ ca: 'FR99', certificateId, certificate, types: ['01', 'A0'] }]);
      expect((await states())[certificateId]).toBe('ok');
      const store = await openSqliteStore(statePath);
      const client = new TokenClient(token.config, token.configPath, recordingLog());
      try {
        await client.start();
        const keyring = new Keyring(store, client);
        const identities = new DigitalIdentities(loadConfig(configPath).tenants, keyring);
        expect(await identities.keyFaults()).toEqual([]);
        const identity = identities.find(demo, 'FR99', certificateId);
        if (identity === undefined) throw new Error('the identity is configured');
        const complete = async (values: readonly Uint8Array[]): Promise<readonly Uint8Array[]> => Promise.resolve(values);
        const signed = async (password: string, zones: readonly Uint8Array[], transactionId?: string): Promise<readonly Uint8Array[]> => {
          const given = { member: 'password', bytes: Buffer.from(password), transactionId } as const;
          return keyring.signZones(await identities.keyOf(identity), given, { algorithm: identity.algorithm, zones }, complete);
        };
        const [value = new Uint8Array()] = await signed(added.password, [zone]);
        const key = createPublicKey({ key: Buffer.from(publicKeyInfo), format: 'der', type: 'spki' });
        expect(verify(hash, zone, { key, dsaEncoding: 'ieee-p1363' }, value)).toBe(true);
        await expect(signed('wrong', [zone])).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
        await expect(signed(added.password, [zone], 'T')).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
        const long = Buffer.concat([zone, Buffer.alloc(8192, 0x41)]);
        await expect(signed(added.password, [zone, long])).rejects.toThrow(RangeError);
        const many = Array.from({ length: 200 }, () => long.subarray(0, 8192));
        await expect(signed(added.password, many)).rejects.toMatchObject({ code: 'UNSUPPORTED' });
        expect(await signed(added.password, many.slice(0, 100))).toHaveLength(100);
        expect(identities.findByReference(demo, identity.reference)).toBe(identity);
        expect(identities.findByReference(tenantId('other'), identity.reference)).toBeUndefined();
        expect(identities.find(tenantId('other'), 'FR99', certificateId)).toBeUndefined();
        expect(['01', '02', 'A0'].map((type) => identities.forType(demo, type).length)).toEqual([1, 0, 1]);
      } finally {
        await client.stop();
        await store.close();
      }
    },
  );

  it('prints what the configuration needs, and is listed as waiting until then', async () => {
    const made = await add('PRNT', '--types', '01');
    expect(made.status).toBe(0);
    const [shown = '', section = ''] = made.stdout.split(/\n\n.*\n\n/);
    expect(shown).toMatch(/^request: +.*FR99-PRNT\.csr\nkeyId: +44[0-9a-f]{32}\npassword: +[A-Za-z0-9_-]{27}$/);
    const identity = { ca: 'FR99', certificateId: 'PRNT', certificate: join(directory, 'FR99-PRNT.pem'), types: ['01'] };
    expect(parse(section)).toEqual({ tenants: { demo: { twoDDoc: { identities: [identity] } } } });
    expect((await states())['PRNT']).toMatch(/^waiting for its certificate/);
    const listed = await run('twoddoc', 'identity', 'list', '--tenant', 'demo');
    expect(listed.stdout).toMatch(/^TENANT +CA +CERTIFICATE +CURVE +VALID UNTIL +TYPES +REFERENCE +STATE\n/);
    expect(listed.stdout).toMatch(/demo +FR99 +PRNT +P-256 +- +any +- +waiting/);
    expect((await run('twoddoc', 'identity', 'list', '--tenant', 'other')).stdout).not.toContain('PRNT');
  });

  it('makes neither a second key for an identity, nor another request over the first', async () => {
    await add('TWCE');
    const before = keys();
    const request = readFileSync(join(directory, 'FR99-TWCE.csr'));
    const again = await add('TWCE');
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('already exists and will not be overwritten')]);
    const elsewhere = await add('TWCE', '--directory', mkdtempSync(join(token.directory, 'elsewhere-')));
    expect([elsewhere.status, elsewhere.stderr]).toEqual([5, expect.stringContaining('demo already has a key for FR99 TWCE')]);
    expect(keys()).toEqual(before);
    expect(readFileSync(join(directory, 'FR99-TWCE.csr'))).toEqual(request);
  });

  it('leaves no key and no request if the request cannot be written, or the state store does not take the key', async () => {
    await add('FRST');
    const before = keys();
    const file = join(directory, 'file');
    writeFileSync(file, '');
    expect((await add('FAIL', '--directory', join(file, 'below'))).status).toBe(5);
    const state = new DatabaseSync(statePath);
    state.exec("create trigger refusing before insert on identity_keys begin select raise(abort, 'no room'); end");
    state.close();
    const refused = await add('FAIL');
    const repaired = new DatabaseSync(statePath);
    repaired.exec('drop trigger refusing');
    expect(repaired.prepare('select count(*) as count from key_journal').get()).toEqual({ count: 0 });
    repaired.close();
    expect(refused.status).not.toBe(0);
    expect(keys()).toEqual(before);
    expect(readdirSync(directory).filter((name) => name.includes('FAIL'))).toEqual([]);
    expect((await add('FAIL')).status).toBe(0);
  });

  it.each([
    [['--ca', 'FR1'], '--ca: not the identifier of a 2D-Doc CA'],
    [['--certificate-id', 'abcd'], '--certificate-id: not the identifier of a certificate'],
    [['--types', '01,1'], '--types: not the code of a document type'],
    [['--tenant', 'nobody'], '--tenant: the configuration has no tenant "nobody"'],
    [['--siret', '73282932000074'], 'give either --siren or --siret'],
    [['--siren', '732829321'], '--siren: the check digit of 732829321 is wrong'],
    [['--siren', '73282932'], '--siren takes 9 digits'],
    [['--country', 'France'], 'country: '],
    [['--organization', 'x'.repeat(65)], 'organizationName: '],
    [['--curve', 'P-224'], "'P-224' is invalid"],
  ])('add with %s is refused, and makes no key', async (options, fault) => {
    const before = keys();
    const { status, stderr } = await add('NONE', ...options);
    expect([status, stderr]).toEqual([2, expect.stringContaining(fault)]);
    expect(keys()).toEqual(before);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('refuses the identifiers of tests unless the configuration allows them', async () => {
    const options = ['--ca', 'FR00'];
    const refused = await add('0001', ...options);
    expect([refused.status, refused.stderr]).toEqual([5, expect.stringContaining('are identifiers of tests')]);
    expect(existsSync(join(directory, 'FR00-0001.csr'))).toBe(false);
    configure([], { allowTestIdentifiers: true });
    expect((await add('0001', ...options)).status).toBe(0);
  });

  it('accepts SIRET, also those of La Poste, and numbers in groups', async () => {
    for (const [index, siret] of ['732 829 320 00074', '35600000049837'].entries()) {
      const made = await run(
        ...['twoddoc', 'identity', 'add', '--tenant', 'demo', '--ca', 'FR99', '--certificate-id', `SRT${index}`],
        ...['--organization', 'Exemple', '--siret', siret, '--directory', directory],
      );
      expect([made.status, made.stderr]).toEqual([0, expect.anything()]);
      const subject = openssl(['req', '-in', join(directory, `FR99-SRT${index}.csr`), '-noout', '-subject']);
      expect(subject).toContain(`OU = 0002 ${siret.replaceAll(' ', '')}`);
    }
  });

  it('lists what keeps an identity from signing', async () => {
    const requests = ['LCKD', 'MISS', 'NOID', 'OLDC'];
    for (const name of requests) await add(name);
    const certificates = new Map(
      requests.map((name) => {
        const spki = publicKeyOf(join(directory, `FR99-${name}.csr`));
        return [name, certifyKey(authority, directory, name, spki)] as const;
      }),
    );
    const another = authority.issue('WRNG', { extendedKeyUsage: '' }).certificate;
    await add('WRNG');
    const ended = { from: new Date(Date.UTC(2025, 0, 1)), until: new Date(Date.UTC(2025, 0, 2)), extendedKeyUsage: '' };
    const expired = authority.issue('NKEY', ended).certificate;
    const of = (certificateId: string, certificate = certificates.get(certificateId) ?? ''): object => ({
      ...{ ca: 'FR99', certificateId, certificate },
    });
    configure([of('LCKD'), of('MISS'), of('WRNG', another), of('NKEY', expired), of('OLDC', join(directory, 'nothing.pem'))]);
    const state = new DatabaseSync(statePath);
    state.exec("update identity_keys set locked_until = 9e12, failures_in_row = 5 where certificate_id = 'LCKD'");
    state.exec("update identity_keys set key_id = '44' || substr(reference, 1, 32) where certificate_id = 'MISS'");
    state.close();
    const shown = await states();
    expect(shown['NOID']).toMatch(/^waiting for its certificate/);
    expect(shown['OLDC']).toMatch(/^certificate cannot be used: .*no such file/);
    expect(shown).toMatchObject({
      LCKD: 'locked until 2255-03-14T16:00:00.000Z',
      MISS: 'key missing on the token',
      WRNG: 'certificate does not match the key',
      NKEY: 'no key: signetctl twoddoc identity add makes it',
    });
    const checked = await run('config', 'check');
    expect(checked.stderr).toMatch(/tenants\.demo\.twoDDoc\.identities\.3: .* expired/);
    expect(checked.stderr).toMatch(/tenants\.demo\.twoDDoc\.identities\.4: .*there is no such file/);
    const store = await openSqliteStore(statePath);
    try {
      const unusable = new Keyring(store, new TokenClient(token.config, token.configPath, recordingLog()));
      expect(() => new DigitalIdentities(loadConfig(configPath).tenants, unusable)).toThrow(ConfigError);
      configure([of('WRNG', another), of('NKEY', expired)]);
      const identities = new DigitalIdentities(loadConfig(configPath).tenants, {
        findIdentity: async ({ certificateId }) => {
          const row = await store.run('findIdentityKey', { tenant: 'demo', ca: 'FR99', certificate_id: certificateId });
          return row === undefined ? undefined : ({ publicKeyInfo: row.public_key } as never);
        },
      });
      expect(await identities.keyFaults()).toEqual([
        'tenants.demo.twoDDoc.identities.0: the certificate of the digital identity does not match its key',
        'tenants.demo.twoDDoc.identities.1: the digital identity has no key in the state store',
      ]);
      const [wrong] = identities.all;
      if (wrong === undefined) throw new Error('it is configured');
      await expect(identities.keyOf(wrong)).rejects.toMatchObject({ code: 'KEY_STATE' });
    } finally {
      await store.close();
    }
  });
});
