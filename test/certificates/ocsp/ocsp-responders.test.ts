import { createHash, randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AdministrationEntry } from '../../../src/audit/record.ts';
import { OcspResponders } from '../../../src/certificates/ocsp/ocsp-responders.ts';
import type { OcspAnswer } from '../../../src/certificates/ocsp/ocsp-responder.ts';
import type { CertificateIssuer } from '../../../src/certificates/issue.ts';
import type { ResponderTools } from '../../../src/certificates/ocsp/responder-keys.ts';
import type { SigningLimitSettings } from '../../../src/certificates/ocsp/signing-limit.ts';
import { CertificateAuthority } from '../../../src/config/authority-config.ts';
import type { StateConfig } from '../../../src/config/state-config.ts';
import { Destruction } from '../../../src/keys/destruction.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { storeKeyJournal } from '../../../src/keys/store-key-journal.ts';
import type { StateStore } from '../../../src/state/state-store.ts';
import { openStateStore } from '../../../src/state/threaded-store.ts';
import { TokenClient } from '../../../src/token/client/token-client.ts';
import type { KeyId } from '../../../src/token/key-id.ts';
import { TokenUnavailable } from '../../../src/token/token.ts';
import { databasesOfRun } from '../../state/databases.ts';
import { keyRows } from '../../state/rows.ts';
import { openssl } from '../../support/openssl.ts';
import { scratchToken, type ScratchToken } from '../../support/scratch-token.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { pem } from '../openssl.ts';
import { softwareAuthority, type SoftwareAuthority } from '../software-authority.ts';
import { certId, nonceExtension, ocspRequest } from './requests.ts';

const dayMs = 86_400_000;
const limits = { signaturesPerSecond: 1000, atOnceMax: 4, waitingMax: 100 };
const errorStatus = (octet: number): Uint8Array => Uint8Array.of(0x30, 0x03, 0x0a, 0x01, octet);
/** id-pkix-ocsp-extended-revoke. */
const extendedRevoke = Buffer.from('06092b0601050507300109', 'hex');

let authority: SoftwareAuthority;
let issuer: CertificateIssuer;
let scratch: ScratchToken;
let token: TokenClient;

beforeAll(async () => {
  authority = await softwareAuthority('P-256');
  ({ issuer } = authority);
  scratch = scratchToken();
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
});
afterAll(async () => {
  await token.stop();
  scratch.remove();
});

describe.each(Object.entries(databasesOfRun))('OCSP responders with %s', (_name, kind) => {
  const database = kind();
  let config: StateConfig;
  let store: StateStore;
  const running: OcspResponders[] = [];

  beforeAll(async () => {
    await database.start();
  });
  afterAll(async () => {
    await database.stop();
  });
  beforeEach(async () => {
    config = await database.fresh();
    store = await openStateStore(config, recordingLog());
  });
  afterEach(async () => {
    vi.useRealTimers();
    for (const responders of running.splice(0)) await responders.stop();
    await store.close();
  });

  const records: Partial<AdministrationEntry>[] = [];
  const recorded: ResponderTools['audit'] = {
    async administer(entry, work) {
      const { value, said } = await work(() => []);
      records.push({ ...entry, ...said });
      return value;
    },
  };
  const toolsOn = (on: StateStore) => ({
    store: on,
    token,
    undoing: new Destruction(on, token, storeKeyJournal(on), { abandonedMs: 1000, configured: [] }),
    audit: recorded,
    log: recordingLog(),
  });

  async function started(
    settings: { ocsp?: object; crl?: object } = {},
    {
      on = store,
      by = issuer,
      limit = limits,
      tools = toolsOn(on),
    }: { on?: StateStore; by?: CertificateIssuer; limit?: SigningLimitSettings; tools?: ResponderTools } = {},
  ): Promise<OcspResponders> {
    const responders = new OcspResponders(tools, limit);
    running.push(responders);
    const entry = CertificateAuthority.parse({ certificate: 'ca.pem', keyId: `49${'0'.repeat(32)}`, ...settings });
    await responders.use(new Map([['ca', by]]), { ca: entry });
    return responders;
  }

  /** Issues a certificate, as far as the store knows. Answers its serial number. */
  async function issued(serialNumber = randomBytes(16).toString('hex')): Promise<string> {
    const { key, certificate } = keyRows();
    await store.run('announce', { key_id: key.key_id, intent: 'CREATE', created_at: Date.now() });
    await store.run('insertKey', { key, certificate: { ...certificate, authority: 'ca', serial_number: serialNumber } });
    return serialNumber;
  }

  async function revoke(serialNumber: string, reason = 1): Promise<void> {
    const revokedAt = Math.floor(Date.now() / 1000) * 1000;
    const times = { revoked_at: revokedAt, not_after: revokedAt + dayMs };
    await store.run('revoke', { sha1: serialNumber, heldSince: null, authority: 'ca', serial_number: serialNumber, reason, ...times });
  }

  const ask = async (responders: OcspResponders, request: Uint8Array): Promise<OcspAnswer> => {
    const answer = await responders.find('ca')?.answer(request);
    if (answer === undefined) throw new Error('no responder');
    return answer;
  };
  const asking = (serialNumber: string): Uint8Array => ocspRequest([certId(issuer.certificate, serialNumber)]);

  /** What OpenSSL says of it, having verified it by the issuer alone. */
  function read({ der }: OcspAnswer): string {
    const trusted = pem(issuer.certificate.der);
    return openssl(['ocsp', '-respin', '{der}', '-resp_text', '-CAfile', '{trusted}', '-partial_chain'], { der, trusted });
  }

  it('get their certificate before a stop resolves, and none afterwards', async () => {
    const released = Promise.withResolvers<undefined>();
    let signed = 0;
    let hasStopped = false;
    const slow: CertificateIssuer = {
      ...issuer,
      async sign(tbs) {
        signed += 1;
        await released.promise;
        return issuer.sign(tbs);
      },
    };
    const responders = new OcspResponders(toolsOn(store), limits);
    const entry = CertificateAuthority.parse({ certificate: 'ca.pem', keyId: `49${'0'.repeat(32)}` });
    const use = async (): Promise<void> => responders.use(new Map([['ca', slow]]), { ca: entry });
    const using = use();
    await vi.waitUntil(() => signed === 1, { timeout: 20_000 });
    const stopping = responders.stop().then(() => {
      hasStopped = true;
    });
    await turn();
    expect(hasStopped).toBe(false);
    released.resolve(undefined);
    await Promise.all([stopping, using, use()]);
    expect(signed).toBe(1);
  });

  it('say good, revoked with reason and date, and unknown, in answers that OpenSSL verifies by the issuer alone', async () => {
    const responders = await started();
    // A leading zero octet goes in an INTEGER.
    const [good, revoked, never] = [await issued(`00${randomBytes(15).toString('hex')}`), await issued(), randomBytes(16).toString('hex')];
    await revoke(revoked, 4);
    const text = read(await ask(responders, ocspRequest([good, revoked, never].map((serial) => certId(issuer.certificate, serial)))));
    expect(text).toMatch(/Cert Status: good[^]*Cert Status: revoked[^]*Revocation Reason: superseded[^]*Cert Status: unknown/);
    expect(text).toContain('OCSP No Check');
    expect(text).toContain('OCSP Signing');
    expect(text).not.toContain('Archive Cutoff');
    for (const [serial, status] of [
      [good, 'good'],
      [revoked, 'revoked'],
      [never, 'unknown'],
    ] as const)
      expect(read(await ask(responders, asking(serial)))).toContain(`Cert Status: ${status}`);
  });

  it('answer unauthorized for certificates of other authorities, also beside their own', async () => {
    const responders = await started();
    const { issuer: other } = await softwareAuthority('P-384');
    const [mine, foreign] = [certId(issuer.certificate, await issued(), 'sha256'), certId(other.certificate, '01')];
    for (const asked of [[foreign], [mine, foreign]])
      expect(await ask(responders, ocspRequest(asked))).toMatchObject({ outcome: 'unauthorized', der: errorStatus(6) });
    expect(read(await ask(responders, ocspRequest([mine, mine])))).toMatch(/Cert Status: good[^]*Cert Status: good/);
  });

  it('recognise a request that they have read before, unless it is longer than those of real clients', async () => {
    const responder = (await started()).find('ca');
    const request = asking(await issued());
    let readings = 0;
    const decode = (): Uint8Array => {
      readings += 1;
      return request;
    };
    for (const text of ['short', 'short', '/'.repeat(600), '/'.repeat(600)]) {
      expect(await responder?.answerText(text, decode)).toMatchObject({ outcome: 'signed' });
    }
    expect(readings).toBe(3);
  });

  it('answer revoked for certificates that were never issued if so configured, and state that they do', async () => {
    const responders = await started({ ocsp: { neverIssued: 'revoked' } });
    const never = await ask(responders, asking('0102'));
    const text = read(never);
    expect(text).toMatch(/Cert Status: revoked\s+Revocation Time: Jan\s+1 00:00:00 1970 GMT\s+Revocation Reason: certificateHold/);
    expect(Buffer.from(never.der).includes(extendedRevoke)).toBe(true);
    expect(Buffer.from((await ask(responders, asking(await issued()))).der).includes(extendedRevoke)).toBe(false);
  });

  it('state how far back they know, if expired certificates are kept', async () => {
    const responders = await started({ crl: { keepExpired: true } });
    expect(read(await ask(responders, asking(await issued())))).toContain('OCSP Archive Cutoff');
  });

  it('echo a nonce, and keep what has none until a revocation is committed', async () => {
    const responders = await started();
    const serial = await issued();
    const nonce = randomBytes(32);
    const withNonce = await ask(responders, ocspRequest([certId(issuer.certificate, serial)], nonceExtension(nonce)));
    expect(withNonce.cacheable).toBeUndefined();
    expect(Buffer.from(withNonce.der).includes(nonce)).toBe(true);
    const first = await ask(responders, asking(serial));
    expect(await ask(responders, asking(serial))).toBe(first);
    await revoke(serial);
    // As `Revocations` does on the instance itself.
    responders.changed('ca', serial);
    expect(read(await ask(responders, asking(serial)))).toContain('Cert Status: revoked');
  });

  it('on other instances report a revocation immediately, and share key and certificate', async (context) => {
    if (config.kind === 'sqlite') return context.skip('one process has the embedded store');
    const second = await openStateStore(config, recordingLog());
    try {
      const keysBefore = (await token.listKeys()).length;
      const [one, two] = await Promise.all([started(), started({}, { on: second })]);
      // The one that was slower finds the other's a second later.
      await vi.waitUntil(() => one.ends().get('ca') !== 0 && two.ends().get('ca') !== 0, { timeout: 20_000 });
      expect(one.ends()).toEqual(two.ends());
      expect(await token.listKeys()).toHaveLength(keysBefore + 1);
      expect(await store.run('journal')).toEqual([]);
      for (let round = 0; round < 20; round += 1) {
        const serial = await issued();
        expect(read(await ask(two, asking(serial)))).toContain('Cert Status: good');
        await revoke(serial, 6);
        expect(read(await ask(two, asking(serial)))).toContain('Cert Status: revoked');
        await store.run('releaseHold', { sha1: serial, authority: 'ca', serialNumber: serial });
        expect(read(await ask(two, asking(serial)))).toContain('Cert Status: good');
      }
      for (const responders of running.splice(0)) await responders.stop();
    } finally {
      await second.close();
    }
  });

  it('renew themselves with an overlap, and old keys go from the token once their certificates have ended', async () => {
    const keysBefore = (await token.listKeys()).length;
    const responders = await started({ ocsp: { certificateHours: 24 } });
    const first = responders.ends().get('ca') ?? 0;
    vi.useFakeTimers({ toFake: ['Date'] });
    // The clock of a database server goes on with that of this machine.
    const clock = vi.spyOn(store, 'now').mockImplementation(() => Date.now());
    for (const hours of [10, 20]) {
      vi.setSystemTime(first - dayMs + hours * 3_600_000);
      const next = await started({ ocsp: { certificateHours: 24 } });
      expect(next.ends().get('ca') === first).toBe(hours === 10);
      expect(await token.listKeys()).toHaveLength(keysBefore + (hours === 10 ? 1 : 2));
    }
    vi.setSystemTime(first + 2 * 3_600_000);
    const last = await started({ ocsp: { certificateHours: 24 } });
    expect(await token.listKeys()).toHaveLength(keysBefore + 1);
    expect(last.ends().get('ca')).toBeGreaterThan(first);
    expect(await store.run('journal')).toEqual([]);
    clock.mockRestore();
  });

  it('are recorded before they sign, and made only where that can be', async () => {
    records.splice(0);
    await started();
    const [row] = await store.run('ocspResponders', { authority: 'ca', signer: signerOf() });
    const digest = createHash('sha256')
      .update(row?.der ?? '')
      .digest('hex');
    expect(records).toEqual([expect.objectContaining({ command: 'issue OCSP responder', authority: 'ca', digests: [`sha256:${digest}`] })]);
  });

  it('are not created if they cannot be recorded, and leave no key behind', async () => {
    const keysBefore = (await token.listKeys()).length;
    const full = { ...toolsOn(store), audit: { administer: async () => Promise.reject(new Refusal('STORE_FULL')) } };
    const responders = await started({}, { tools: full });
    expect(responders.ends().get('ca')).toBe(0);
    expect(await token.listKeys()).toHaveLength(keysBefore);
  });

  it('get a new key if theirs is no longer on the token', async () => {
    await started();
    const [{ key_id: lost } = { key_id: '' }] = await store.run('ocspResponders', { authority: 'ca', signer: signerOf() });
    const listing = { ...toolsOn(store), token: without(lost) };
    const responders = await started({}, { tools: listing });
    const [newest] = await store.run('ocspResponders', { authority: 'ca', signer: signerOf() });
    expect(newest?.generation).toBe(2);
    expect(read(await ask(responders, asking(await issued())))).toContain('Cert Status: good');
  });

  it('leave no key behind if the certificate cannot be issued, answer tryLater meanwhile, and try again', async () => {
    const keysBefore = (await token.listKeys()).length;
    let isDown = true;
    const by: CertificateIssuer = {
      ...issuer,
      sign: async (tbs) => (isDown ? Promise.reject(new TokenUnavailable('away')) : issuer.sign(tbs)),
    };
    const tools = toolsOn(store);
    const responders = await started({}, { by, tools });
    const serial = await issued();
    expect(await ask(responders, asking(serial))).toMatchObject({ outcome: 'tryLater', der: errorStatus(3) });
    expect(tools.log.lines.filter((line) => line.includes('could not get a new certificate'))).toHaveLength(1);
    isDown = false;
    await vi.waitUntil(() => responders.ends().get('ca') !== 0, { timeout: 20_000 });
    expect(read(await ask(responders, asking(serial)))).toContain('Cert Status: good');
    expect(await token.listKeys()).toHaveLength(keysBefore + 1);
    expect(await store.run('journal')).toEqual([]);
  });

  it('sign no more answers a second than the limit, and answer tryLater beyond it', async () => {
    const responders = await started({}, { limit: { signaturesPerSecond: 5, atOnceMax: 2, waitingMax: 100 } });
    const serial = await issued();
    const kept = await ask(responders, asking(serial));
    const withNonce = async () => ask(responders, ocspRequest([certId(issuer.certificate, serial)], nonceExtension(randomBytes(16))));
    const outcomes = (await Promise.all(Array.from({ length: 50 }, withNonce))).map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'signed').length).toBeLessThanOrEqual(6);
    expect(outcomes.filter((outcome) => outcome === 'tryLater').length).toBeGreaterThanOrEqual(44);
    // What is kept costs no signature.
    expect(await ask(responders, asking(serial))).toBe(kept);
  });

  it('know the certificates of the configured authorities', async () => {
    const { certificate } = issuer;
    const root = { ...issuer, certificate: { ...certificate, subject: certificate.issuer } };
    const responders = new OcspResponders(toolsOn(store), limits);
    running.push(responders);
    const entry = CertificateAuthority.parse({ certificate: 'ca.pem', keyId: `49${'0'.repeat(32)}` });
    await responders.use(
      new Map([
        ['ca', root],
        ['below', issuer],
      ]),
      { ca: entry, below: entry },
    );
    const serial = Buffer.from(certificate.serialNumber).toString('hex');
    const answer = await ask(responders, ocspRequest([certId(root.certificate, serial)]));
    const text = openssl(['ocsp', '-respin', '{der}', '-noverify', '-resp_text'], { der: answer.der });
    expect(text).toContain('Cert Status: good');
  });

  function signerOf(): string {
    return createHash('sha256').update(issuer.certificate.subjectPublicKeyInfo).digest('hex');
  }

  function without(lost: string) {
    return {
      createKey: token.createKey.bind(token),
      signAsService: token.signAsService.bind(token),
      random: token.random.bind(token),
      findKeys: async (ids: readonly KeyId[]) => token.findKeys(ids.filter((id) => id !== lost)),
    };
  }
});
