import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Fault, type FaultCode } from '../../src/faults.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { deciding, step, type Step } from '../../src/state/step.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { recordingLog } from '../support/silent-log.ts';
import { databases } from './databases.ts';
import { keyRows } from './rows.ts';

const rule = { failuresInRow: 5, lockMs: 900_000, failuresSinceSuccess: 20, now: 1_000_000_000_000 };
const unknown = '0'.repeat(40);
const { key, certificate } = keyRows();
const announced = step('announce', { key_id: key.key_id, intent: 'CREATE', created_at: 1 });
const token = { id: 'f1', ends_at: 1000 };
const revocation = { sha1: unknown, authority: 'issuing', serial_number: '01', reason: 1, revoked_at: 1, not_after: 2, heldSince: null };
const release = { sha1: unknown, authority: 'issuing', serialNumber: '02' };
const answer = { id: 'none', claim: 'c', answer: new Uint8Array(1), parts: null, bytes: 1, until: 2, counter: 'i' };
const otp = { otpId: 'none', fate: 'used' } as const;
const file = { id: 'none', bytes: 1, ends_at: 2, sha256: 'ab' };

/** Steps that nothing can be committed with, by the fault that they find. */
const failing: readonly (readonly [FaultCode, string, readonly Step[]])[] = [
  ['USE_LOST', 'a key that is not there', [step('settleUse', { reference: unknown, rule, reserved: false, verdict: 'right' })]],
  [
    'USE_LOST',
    'a one-time password that is used',
    [step('settleUse', { reference: unknown, rule, reserved: true, verdict: 'wrong', otp })],
  ],
  ['TENANT_FULL', 'a key too many', [announced, step('insertKey', { key, certificate, keysMax: 0 })]],
  ['CREATION_LOST', 'a key that nobody announced', [step('insertKey', { key, certificate })]],
  ['IDENTITY_TOKEN_USED', 'a token used twice', [step('useIdentityToken', token), step('useIdentityToken', token)]],
  ['CERTIFICATE_CHANGED', 'a certificate revoked twice', [step('revoke', revocation), step('revoke', revocation)]],
  ['CERTIFICATE_CHANGED', 'a certificate that is not on hold', [step('releaseHold', release)]],
  ['CLAIM_LOST', 'a request that was not claimed', [step('keepAnswer', answer)]],
  ['SESSION_ENDED', 'a session that is not open', [step('closeSession', { id: 'none', now: 1 })]],
  ['TRANSFER_ENDED', 'a file that does not arrive', [step('storeTransfer', file)]],
];

describe.each(Object.entries(databases))('a fault found on the thread of %s', (_name, kind) => {
  const database = kind();
  let store: StateStore;

  beforeAll(async () => {
    await database.start();
    store = await openStateStore(await database.fresh(), recordingLog());
  });

  afterAll(async () => {
    await store.close();
    await database.stop();
  });

  const records = async (): Promise<string[]> => (await store.run('listAuditRecords', { limit: 10 })).map(({ id }) => id);

  it.each(failing)('has its code, %s: %s; nothing is committed with it', async (code, _what, steps) => {
    const record = step('addAuditRecord', { id: 'lost', created_at: 1, record: '{}' });
    const error: unknown = await store.commit([record, ...steps]).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Fault);
    expect(error).toMatchObject({ name: 'Fault', code });
    expect(await records()).toEqual([]);
    expect(await store.run('journal')).toEqual([]);
  });

  it('is that of one member of a group alone', async () => {
    const session = step('closeSession', { id: 'none', now: 1 });
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map(async (id, index) =>
        store.commit([step('addAuditRecord', { id, created_at: index, record: '{}' }), ...(index % 2 === 0 ? [] : [deciding(session)])]),
      ),
    );
    expect(outcomes.map((one) => (one.status === 'rejected' ? (one.reason as unknown) : 'done'))).toEqual(
      ['done', 'SESSION_ENDED', 'done', 'SESSION_ENDED'].map((code) =>
        code === 'done' ? code : (expect.objectContaining({ code }) as unknown),
      ),
    );
    expect(await records()).toEqual(['a', 'c']);
    await store.run('deleteAuditRecords', ['a', 'c']);
  });

  it('is none if the statement itself is wrong', async () => {
    await store.run('announce', { key_id: 'twice', intent: 'CREATE', created_at: 1 });
    const error: unknown = await store
      .run('announce', { key_id: 'twice', intent: 'CREATE', created_at: 1 })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(Fault);
    await store.run('finishStep', 'twice');
  });
});
