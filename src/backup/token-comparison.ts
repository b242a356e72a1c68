import type { Config } from '../config/config.ts';
import { snapshotFacts } from '../state/snapshot/snapshot-facts.ts';
import { openSnapshot } from '../state/snapshot/open-snapshot.ts';
import { storedKeys, type StoredKey } from '../state/snapshot/token-keys.ts';
import { isCallersKey, isIdentityKey, isMacKeyId, keyIdBytes, keyPurpose, macKeyIdOf, parseKeyId } from '../token/key-id.ts';
import type { ObjectReport } from '../token/wire/reports.ts';

/** A key that state and token do not both have. */
export interface Difference {
  /** CKA_ID. */
  readonly id: string;
  readonly what: string;
  /** What an operator does about it. */
  readonly advice: string;
  /** Whether signetd cannot go on as before without it. */
  readonly isNeeded: boolean;
}

export interface TokenComparison {
  /** Number of keys that both have. */
  readonly matching: number;
  /** On the token, unknown to the state. */
  readonly orphans: readonly Difference[];
  /** In the state or the configuration, not on the token. */
  readonly gaps: readonly Difference[];
}

interface Expected {
  readonly what: string;
  readonly advice: string;
  /** `may lack`: a key that is being made or destroyed, or was destroyed. */
  readonly token: 'needed' | 'replaced by signetd' | 'may lack';
}

/** Compares the keys that state and configuration refer to with those on the token. */
export async function compareWithToken(config: Config, objects: readonly ObjectReport[]): Promise<TokenComparison> {
  const expected = await expectedKeys(config);
  const present = new Map(objects.filter(({ kind }) => kind === 'private key' || kind === 'secret key').map((one) => [one.id, one]));
  const gaps = [...expected].flatMap(([id, { what, advice, token }]) =>
    token === 'may lack' || present.has(id) ? [] : [{ id, what, advice, isNeeded: token === 'needed' }],
  );
  const orphans = [...present.values()].flatMap(({ id }) => (expected.has(id) ? [] : [{ id, ...orphan(id), isNeeded: false }]));
  return { matching: [...present.keys()].filter((id) => expected.has(id)).length, orphans, gaps };
}

async function expectedKeys(config: Config): Promise<Map<string, Expected>> {
  const expected = new Map<string, Expected>();
  const snapshot = await openSnapshot(config.state);
  try {
    for await (const key of storedKeys(snapshot)) expected.set(key.id, stored(key));
    const { macKeys } = await snapshotFacts(snapshot, config.audit.name);
    for (const generation of macKeys)
      expected.set(macKeyIdOf(generation), {
        what: 'the MAC key, which verifies passwords',
        advice: 'signetd does not start without it: restore the backup of the token',
        token: 'needed',
      });
    // The first start adopts it, or makes it.
    if (macKeys.length === 0) expected.set(macKeyIdOf(0), { what: '', advice: '', token: 'may lack' });
  } finally {
    await snapshot.close();
  }
  const needed = (keyId: string, what: string): void => {
    expected.set(keyId, { what, advice: 'restore the backup of the token that has it', token: 'needed' });
  };
  const { clientAuthority, certificateAuthorities, timeStampAuthority } = config;
  if (clientAuthority !== undefined) needed(clientAuthority.keyId, 'the key of the CA of clientAuthority');
  for (const [name, { keyId, retired }] of Object.entries(certificateAuthorities)) {
    if (retired) expected.set(keyId, { what: '', advice: '', token: 'may lack' });
    else needed(keyId, `the key of the certificate authority ${name}`);
  }
  if (timeStampAuthority !== undefined) needed(timeStampAuthority.keyId, 'the key of the time-stamp authority');
  return expected;
}

function stored({ use, name, tenant }: StoredKey): Expected {
  switch (use) {
    case 'caller':
      return {
        what: `key ${name} of tenant ${tenant}`,
        advice: `if signetctl state compare lists its removal, state confirm removes it here too; otherwise restore the backup of the token that has it, or revoke its certificate and run signetctl key remove ${name}`,
        token: 'needed',
      };
    case 'identity':
      return {
        what: `the 2D-Doc identity with key ${name} of tenant ${tenant}`,
        advice: 'restore the backup of the token that has it, or remove the identity and add it again',
        token: 'needed',
      };
    case 'pool':
      return {
        what: 'a key made ahead',
        advice: 'nothing to do: nobody has used it, and signetd makes others',
        token: 'replaced by signetd',
      };
    case 'service':
      return {
        what: `the service key for ${name}`,
        advice: 'nothing to do: signetd makes another at its next start',
        token: 'replaced by signetd',
      };
    case 'ocsp':
      return {
        what: `a key of the OCSP responder of ${name}`,
        advice: 'nothing to do: signetd makes another',
        token: 'replaced by signetd',
      };
    case 'journal':
    case 'gone':
      return { what: '', advice: '', token: 'may lack' };
  }
}

function orphan(text: string): Pick<Difference, 'what' | 'advice'> {
  const id = parseKeyId(text);
  const other = 'if no other state store uses this token';
  if (isIdentityKey(id)) {
    return {
      what: 'the key of a 2D-Doc identity that was added after the state',
      advice: `its record is lost, so nobody can use it: add the identity again, and delete this key with the tool of the HSM, ${other}`,
    };
  }
  if (isCallersKey(keyIdBytes(id))) {
    return {
      what: "a caller's key or a key made ahead, created after the state",
      advice: `its record is lost, so nobody can use it: have its certificate replaced, and delete the key with the tool of the HSM, ${other}`,
    };
  }
  if (isMacKeyId(id))
    return {
      what: 'a MAC key',
      advice: 'nothing to do: signetd adopts it at its next start, or signetctl mac rotate or mac destroy-former finishes with it',
    };
  const purpose = keyPurpose(id);
  if (purpose === 'root' || purpose === 'authority' || purpose === 'timeStamps') {
    return {
      what: 'a key of an authority that the configuration does not name',
      advice:
        'put its section back into the configuration, if it was added after the backup; do not delete the key before its certificates have ended',
    };
  }
  return { what: 'a service key', advice: `nobody uses it: delete it with the tool of the HSM, ${other}` };
}
