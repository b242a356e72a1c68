import { describe, expect, it } from 'vitest';
import { reserve, type Attempting } from '../../src/keys/reserved.ts';
import type { OtpRow } from '../../src/state/tables/keys.ts';
import { activeKey } from '../support/active-key.ts';

const bytes = Buffer.from('a guess');
const stored = { salt: Buffer.alloc(16, 3), mac: Buffer.alloc(32, 4) };

function openOtp(reference: string): OtpRow {
  const macs = { salt: Buffer.alloc(16, 1), mac: Buffer.alloc(32, 2), seal_salt: Buffer.alloc(16), seal_mac: Buffer.alloc(32) };
  const digests = JSON.stringify([{ id: 'd', hash: 'sha256', value: Buffer.alloc(32).toString('base64') }]);
  return {
    ...{ reference, action: 'SIGN', otp_id: 'o', ...macs, bound_digests: digests },
    ...{ attempts_left: 3, reserved_until: null, expires_at: 1 },
    ...{ signatures: null, client: null, ends_at: null },
  };
}

/** What the token is asked to compare: kinds, and the lengths of salts, MACs and scopes. */
function asked(attempting: Partial<Attempting>, transactionId: string | undefined): unknown {
  const key = attempting.key ?? activeKey();
  const given = { member: 'password', bytes, transactionId } as const;
  const { candidates, also } = reserve({ key, own: key.secret, given, action: 'SIGN', ownSecret: bytes, otp: undefined, ...attempting });
  const proofs = [...candidates, ...(also === undefined ? [] : [also])];
  return proofs.map(({ kind, salt, mac, scope }) => [kind, salt.length, mac.length, scope.length]);
}

describe.each(['PASSWORD', 'OTP'] as const)('what a secret of a key of %s is compared with', (protocol) => {
  const key = activeKey({ protocol, secret: stored });
  const otp = openOtp(key.reference);

  it('is as much whether a one-time password is open, none is, or its row cannot be read', () => {
    const open = asked({ key, otp }, undefined);
    expect(open).toEqual([...(protocol === 'PASSWORD' ? [['PASSWORD', 16, 32, 32]] : []), ['OTP_SIGN', 16, 32, 32]]);
    expect(asked({ key }, undefined)).toEqual(open);
    expect(asked({ key, otp: { ...otp, mac: Buffer.alloc(31) } }, undefined)).toEqual(open);
    expect(asked({ key, otp: { ...otp, bound_digests: 'none' } }, undefined)).toEqual(open);
  });

  it('is as much whether the transaction of the key is given or not, and whether a key that has none is given one', () => {
    const tied = { ...key, transaction: stored };
    const both = asked({ key: tied, otp }, 'T-1');
    expect(both).toContainEqual(['TRANSACTION', 16, 32, 32]);
    expect(asked({ key: tied, otp }, undefined)).toEqual(both);
    expect(asked({ key, otp }, 'T-1')).toEqual(both);
  });
});
