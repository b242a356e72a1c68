import { createHash, randomUUID, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openssl } from '../support/openssl.ts';
import { outsideAuthority } from '../support/outside-signer.ts';
import { newCertificate } from '../support/own-service.ts';
import { noSeveralInstances, SeveralInstances } from '../support/several-instances.ts';
import { signetctl } from '../support/signetctl.ts';
import { skipNote } from '../support/skip-note.ts';
import { completion, openedIn, preSignRequest, rightValues } from '../support/two-steps.ts';
import { signing } from '../idempotency/callers.ts';
import { BalancedCaller, codeOf, type Answer } from './balanced-caller.ts';

interface Key {
  readonly reference: string;
  readonly password?: string;
}

describe.skipIf(noSeveralInstances !== undefined)(`two instances behind a balancer${skipNote(noSeveralInstances)}`, () => {
  let several: SeveralInstances;
  let caller: BalancedCaller;

  beforeAll(async () => {
    several = await SeveralInstances.start({ keyPool: { keys: 4 } });
    caller = new BalancedCaller(several.environment);
  });
  afterAll(async () => {
    caller.close();
    await several.stop();
  });

  const ask = async (operation: string, body: object, idempotencyKey?: string): Promise<Answer> =>
    caller.ask(several.baseUrl, operation, body, idempotencyKey);
  /** The same request to each instance, at once. */
  const askBoth = async (operation: string, body: object, idempotencyKey?: string): Promise<Answer[]> =>
    Promise.all(several.instances.map(async ({ baseUrl }) => caller.ask(baseUrl, operation, body, idempotencyKey)));
  const codes = async (answers: Promise<Answer[]>): Promise<string[]> => (await answers).map(codeOf).toSorted();
  const newKey = async (protocol = 'PASSWORD'): Promise<{ key: Key; certificate: X509Certificate }> => {
    const { body, text } = await ask('pki/createCertificate', newCertificate(protocol));
    const { reference, password } = body.keyReference ?? {};
    if (reference === undefined || body.certificate === undefined) throw new Error(text);
    return {
      key: { reference, ...(password === undefined ? {} : { password }) },
      certificate: new X509Certificate(Buffer.from(body.certificate, 'base64')),
    };
  };
  /** Requests in the audit log of each instance. */
  const recorded = (): number[] =>
    several.instances.map(({ auditDirectory }) =>
      readdirSync(auditDirectory)
        .filter((file) => file.endsWith('.jsonl') || file.endsWith('.log'))
        .map((file) => readFileSync(join(auditDirectory, file), 'utf8').split('"operation"').length - 1)
        .reduce((sum, count) => sum + count, 0),
    );
  const crlOf = async (publicUrl: string): Promise<{ number: bigint; serials: Set<string> }> => {
    const crl = Buffer.from(await (await fetch(`${publicUrl}/pki/issuing.crl`)).arrayBuffer());
    const shown = openssl(['crl', '-inform', 'DER', '-in', '{crl}', '-noout', '-text', '-crlnumber'], { crl });
    const number = BigInt(/crlNumber=(0x[0-9A-F]+)/.exec(shown)?.[1] ?? '-1');
    return { number, serials: new Set([...shown.matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, serial = '']) => serial)) };
  };

  it('both serve, and a key that one made signs at both at once', async () => {
    const before = recorded();
    for (let count = 0; count < 4; count += 1) {
      const { key } = await newKey();
      expect(await codes(askBoth('signature/sign', signing(key)))).toEqual(['0/0', '0/0']);
    }
    const after = recorded();
    for (const [index, count] of after.entries()) expect(count).toBeGreaterThan(before[index] ?? 0);
  });

  it('a signature is prepared by one and completed by the other, once', async () => {
    const authority = outsideAuthority();
    const signer = authority.certify('P-256');
    const documents = [{ ID: 'd', plainData: { plainValue: 'a document' } }];
    const detached = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } };
    const session = openedIn((await ask('signature/remotePreSign', preSignRequest({ signer, authority }, detached, documents))).body);
    const completing = completion(session, rightValues(session, signer));
    // The session is gone for whoever comes second.
    expect(await codes(askBoth('signature/remoteSign', completing))).toEqual(['0/0', expect.stringMatching(/^2\/2\d\d$/)]);
  });

  it('an OTP that one sent is used at both at once: it signs once', async () => {
    const { key } = await newKey('OTP');
    const digest = {
      id: 'd',
      digestAlgOID: '2.16.840.1.101.3.4.2.1',
      digestValue: createHash('sha256').update('document').digest('base64'),
    };
    const sent = await ask('pki/sendOTP', { action: 'SIGN', keyReference: key.reference, signerData: { digest: [digest] } });
    expect(codeOf(sent), sent.text).toBe('0/0');
    const body = signing({ reference: key.reference, password: sent.body.password });
    const outcomes = await Promise.all([0, 1, 2].map(async () => codes(askBoth('signature/sign', body))));
    expect(outcomes.flat().filter((code) => code === '0/0')).toHaveLength(1);
    expect(new Set(outcomes.flat())).toEqual(new Set(['0/0', '2/202']));
  });

  it('wrong passwords at both lock a key together, at the fifth', async () => {
    const { key } = await newKey();
    const wrong = signing({ reference: key.reference, password: 'a wrong password' });
    const outcomes: string[] = [];
    for (let count = 0; count < 6; count += 1) outcomes.push(codeOf(await ask('signature/sign', wrong)));
    expect(outcomes).toEqual(['2/202', '2/202', '2/202', '2/202', '2/202', '2/203']);
    expect(await codes(askBoth('signature/sign', signing(key)))).toEqual(['2/203', '2/203']);
    const others = await newKey();
    const many = await Promise.all(
      Array.from({ length: 6 }, async () => codes(askBoth('signature/sign', signing({ ...others.key, password: 'a wrong password' })))),
    );
    expect(many.flat().filter((code) => code === '2/202')).toHaveLength(5);
    const where = `where reference = '${others.key.reference}'`;
    expect(await several.postgresql.query(several.database, `select failures_since_success as failures from keys ${where}`)).toEqual([
      { failures: 5 },
    ]);
  });

  it('one Idempotency-Key at both at once makes one key', async () => {
    for (let count = 0; count < 5; count += 1) {
      const answers = await askBoth('pki/createCertificate', newCertificate(), randomUUID());
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.map(codeOf)).toEqual(['0/0', '0/0']);
    }
  });

  it('keys of the pool that both share go out once each', async () => {
    const made = await Promise.all(Array.from({ length: 16 }, async () => newKey()));
    const publicKeys = made.map(({ certificate }) => certificate.publicKey.export({ type: 'spki', format: 'der' }).toString('hex'));
    expect(new Set(publicKeys).size).toBe(made.length);
    const outcomes = await Promise.all(made.map(async ({ key }) => codes(askBoth('signature/sign', signing(key)))));
    expect(new Set(outcomes.flat())).toEqual(new Set(['0/0']));
  });

  it('both publish a CRL with what either revoked, and the same one', async () => {
    const before = await crlOf(several.publicUrl);
    const made = await Promise.all(Array.from({ length: 6 }, async () => newKey()));
    const revoked = await Promise.all(
      made.map(async ({ certificate }, index) =>
        caller.ask(several.instances[index % 2]?.baseUrl ?? '', 'pki/revokeCertificate', {
          certificate: certificate.raw.toString('base64'),
          reason: 'KEY_COMPROMISE',
        }),
      ),
    );
    expect(new Set(revoked.map(codeOf))).toEqual(new Set(['0/0']));
    const crls = async (): Promise<Awaited<ReturnType<typeof crlOf>>[]> =>
      Promise.all(several.instances.map(async ({ publicUrl }) => crlOf(publicUrl)));
    // An instance takes over the CRL of another within seconds.
    const revokedSerials = made.map(({ certificate }) => certificate.serialNumber);
    const lacking = async (): Promise<string[]> =>
      (await crls()).flatMap(({ serials }) => revokedSerials.filter((serial) => !serials.has(serial)));
    await expect.poll(lacking, { timeout: 30_000 }).toEqual([]);
    for (const { number } of await crls()) expect(number).toBeGreaterThan(before.number);
    await expect.poll(async () => new Set((await crls()).map(({ number }) => number)).size, { timeout: 30_000 }).toBe(1);
    for (const { key } of made) expect(await codes(askBoth('signature/sign', signing(key)))).toEqual(['2/204', '2/204']);
  });

  it('a key that one removed, and a password that one changed, count at the other from the answer on', async () => {
    const { key } = await newKey();
    const [first, second] = several.instances;
    const sign = async (baseUrl: string, given: Key): Promise<string> =>
      codeOf(await caller.ask(baseUrl, 'signature/sign', signing(given)));
    // The other has the key in its memory.
    expect(await sign(second.baseUrl, key)).toBe('0/0');
    const changed = { ...key, password: 'another password' };
    expect(codeOf(await caller.ask(first.baseUrl, 'pki/changePassword', { keyReference: key, password: changed.password }))).toBe('0/0');
    expect(await sign(second.baseUrl, key)).toBe('2/202');
    expect(await sign(second.baseUrl, changed)).toBe('0/0');
    expect(codeOf(await caller.ask(first.baseUrl, 'pki/removeKey', { keyReference: changed }))).toBe('0/0');
    expect(await sign(second.baseUrl, changed)).toMatch(/^2\/2\d\d$/);
    expect((await caller.ask(second.baseUrl, 'pki/checkKey', { keyReference: { reference: key.reference } })).body.state).toBe('REMOVED');
  });

  it('a client that is revoked at one is refused by the other once the command returns, on an open connection too', async () => {
    const app = new BalancedCaller(several.environment, { client: 'app', keepAlive: true });
    const [first, second] = several.instances;
    const check = async (): Promise<string> =>
      app.ask(second.baseUrl, 'pki/checkKey', { keyReference: { reference: 'f'.repeat(40) } }).then(codeOf, () => 'closed');
    expect(await check()).toBe('2/201');
    expect((await signetctl(['--config', first.configPath, 'client', 'revoke', 'app'])).status).toBe(0);
    expect(await check()).toMatch(/^(403|closed)$/);
    app.close();
  });
});
