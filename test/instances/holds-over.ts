import { randomUUID, X509Certificate } from 'node:crypto';
import { expect } from 'vitest';
import { signing } from '../idempotency/callers.ts';
import { openssl } from '../support/openssl.ts';
import { newCertificate } from '../support/own-service.ts';
import type { ScratchPostgresql } from '../support/postgresql.ts';
import type { SeveralInstances } from '../support/several-instances.ts';
import { BalancedCaller, codeOf } from './balanced-caller.ts';

const workers = 4;
/** Certificates that are issued on either side of a disturbance. */
const settled = 8;

/**
 * Applies for certificates, signs with the keys and revokes every third certificate, while something happens. Every request is repeated
 * with its Idempotency-Key until it is answered. What was acknowledged must hold at both instances afterwards. `database`: the server that
 * is the primary then.
 */
export async function holdsOver(
  several: SeveralInstances,
  what: string,
  happens: () => Promise<void>,
  database: () => ScratchPostgresql = () => several.postgresql,
): Promise<void> {
  const keys: object[] = [];
  const revoked: string[] = [];
  const wrong: string[] = [];
  const progress = { answered: 0, longestGapMs: 0, lastMs: performance.now(), isOver: false };
  const callers = Array.from({ length: workers }, () => new BalancedCaller(several.environment, { keepAlive: true }));
  const work = async (caller: BalancedCaller): Promise<void> => {
    const done = async (
      operation: string,
      body: object,
    ): Promise<{ keyReference?: object | undefined; certificate?: string | undefined }> => {
      const answer = await caller.askUntilAnswered(several.baseUrl, operation, body, randomUUID());
      const nowMs = performance.now();
      progress.longestGapMs = Math.max(progress.longestGapMs, nowMs - progress.lastMs);
      progress.lastMs = nowMs;
      progress.answered += 1;
      if (codeOf(answer) !== '0/0') wrong.push(`${operation}: ${answer.text}`);
      return answer.body;
    };
    for (let count = 0; !progress.isOver; count += 1) {
      const { keyReference = {}, certificate = '' } = await done('pki/createCertificate', newCertificate());
      await done('signature/sign', signing(keyReference));
      if (count % 3 === 2) {
        await done('pki/revokeCertificate', { certificate, reason: 'KEY_COMPROMISE' });
        revoked.push(new X509Certificate(Buffer.from(certificate, 'base64')).serialNumber);
      } else keys.push(keyReference);
    }
  };
  const working = Promise.all(callers.map(work));
  await expect.poll(() => keys.length, { timeout: 100_000 }).toBeGreaterThan(settled);
  await happens();
  const before = keys.length;
  await expect.poll(() => keys.length, { timeout: 100_000 }).toBeGreaterThan(before + settled);
  progress.isOver = true;
  await working;
  const retries = callers.reduce((sum, { retries: count }) => sum + count, 0);
  for (const caller of callers) caller.close();
  process.stdout.write(
    `${what}: ${progress.answered} requests answered, ${wrong.length} wrong, ${retries} repeated; longest time without an answer ${Math.round(progress.longestGapMs)} ms\n`,
  );
  expect(wrong).toEqual([]);

  const caller = new BalancedCaller(several.environment);
  for (const { baseUrl, publicUrl } of several.instances) {
    for (const key of keys) expect(codeOf(await caller.ask(baseUrl, 'signature/sign', signing(key)))).toBe('0/0');
    // An instance serves what another one has issued within two seconds, or when the claim of a CRL that an outage prevented has ended.
    await expect.poll(async () => unlisted(publicUrl, revoked)).toEqual([]);
  }
  const columns = 'select count(*)::int as count from keys group by reference having count(*) > 1';
  expect(await database().query(several.database, columns)).toEqual([]);
}

/** Returns the serial numbers that the CRL of an instance does not have. */
async function unlisted(publicUrl: string, serials: readonly string[]): Promise<string[]> {
  const crl = Buffer.from(await (await fetch(`${publicUrl}/pki/issuing.crl`)).arrayBuffer());
  const listed = openssl(['crl', '-inform', 'DER', '-in', '{crl}', '-noout', '-text'], { crl });
  return serials.filter((serial) => !listed.includes(serial));
}
