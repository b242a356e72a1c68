import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs/security-model.md'), 'utf8');

/**
 * By attacker and the beginning of what they cannot do: tests that hold it, as file and part of a
 * name.
 */
const heldBy: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'Somebody on the network': {
    'keep registered clients out': [
      'http/limits/places.test.ts: an admitted one is never replaced',
      'http/tls/limits.test.ts: never replaces a registered client, and gives strangers places by address',
      'http/limits/idle-floods.long.test.ts: connections that say nothing',
    ],
    'get an answer of the API without': [
      'http/tls/open-connections.test.ts: a revoked client is disconnected at its next request',
      'http/tls/open-connections.test.ts: a CRL that expires ends all of them',
    ],
    'resume the TLS session': ['http/tls/handshake.test.ts: resumes no session over'],
    'use an operation with a certificate': ['http/api/statuses.test.ts: 403 for a client that is not registered'],
  },
  'A registered caller': {
    'see or use keys of another tenant': [
      "operations/keys.test.ts: answers 2/201 for no key and for another tenant's, with one text",
      "operations/sign.test.ts: 2/201 for another tenant's key",
    ],
    'guess the secret of one key': [
      'operations/keys.test.ts: are counted even if one-time passwords are right meanwhile',
      'kills/secrets.long.test.ts: a key that wrong passwords have locked is locked after kill -9',
      'state/several-instances.test.ts: count failures together: twenty guesses at once at both are five',
    ],
  },
  'Somebody with a copy of the state store or a backup': {
    sign: ['operations/secrets-at-rest.test.ts: holds no secret, and nothing to check a guess against'],
    'test a guess of a password': ['operations/secrets-at-rest.test.ts: holds no secret, and nothing to check a guess against'],
    'read a kept answer': ['sealed-parts/sealed-parts.test.ts: the sealed parts of an owner of the kind'],
  },
  'Somebody who can write to the database': {
    'change what authorises a key': [
      'keys/tampered-rows.test.ts: does not fit the secret: the token itself refuses it',
      'operations/changed-rows.test.ts: gives no other tenant a key of',
    ],
    'have a secret or a seal of one key': [
      'keys/tampered-rows.test.ts: of a one-time password for another action or of another key is refused',
    ],
    'have an OTP sent to another address': ['operations/changed-rows.test.ts: is refused by every operation, and nothing is done'],
    'by changing the pool': ['keys/key-pool.test.ts: hands out no key whose row'],
    'read or forge kept answers': ['sealed-parts/sealed-parts.test.ts: the sealed parts of an owner of the kind'],
  },
  'Somebody who restores an old store': {
    'have the service use the old store': [
      'audit/older-state.long.test.ts: is not ready until the operator confirms',
      'audit/compare-state.test.ts: is older by exactly what was recorded after it',
    ],
    "use the operator's confirmation": [
      'admin/catch-up.test.ts: locks an identity whose password was changed',
      'keys/activation.test.ts: revives no key that was consumed or removed since',
    ],
    'bring back a private key': ['operations/keys.test.ts: destroys the private key on the token'],
    'have a key of the pool handed out twice': [
      'keys/key-pool.test.ts: hands no key out again when yesterday’s copy of the store is restored',
    ],
  },
  'Another user of the machine': {
    'use the token': ['token/peers.test.ts: cannot be opened by the user of the daemon without the group, nor by strangers'],
    'see a request or a secret': [
      'admin/socket.test.ts: is only for the user of the service, or for its group',
      'service/booted.long.test.ts: let those administrate who are in the group for it',
    ],
  },
  "Somebody who controls the daemon's process": {
    'copy a private key': ['token/token-client.test.ts: makes private keys sensitive, never extractable and for signing alone'],
    'use a key without a trace': [
      'audit/account.test.ts: names a signature, and the MAC, that were made over the socket of the host',
      'audit/account.test.ts: names what an authority signed without a record',
    ],
    'guess secrets without limit': ['token/wrong-secrets.test.ts: ends 301 guesses after 30'],
    'change what the host has written': [
      'audit/account-changes.test.ts: is detected, wherever a line was changed, removed, duplicated or moved',
      'service/booted.long.test.ts: let those administrate who are in the group for it',
    ],
    'have the certificate of a CA': ["token/purpose-structures.test.ts: is no CA's"],
    'have a root sign a certificate': ["token/purpose-structures.test.ts: is a responder's for OCSP alone"],
    'have a key of a CA': ['token/execute.test.ts: is refused by the purpose of the key'],
    'have the key of a digital identity': ['token/execute.test.ts: is refused by the purpose of the key'],
    'change the purpose of a key': ["token/execute.test.ts: may be to give a key its purpose where it serves an operator's command"],
  },
  "Somebody who controls the host's process": {
    'copy a private key': ['token/token-client.test.ts: makes private keys sensitive, never extractable and for signing alone'],
  },
  "A vendor's module that crashes, hangs or leaks": {
    'stop the service for longer': [
      'token/faults.test.ts: and hangs in one call',
      'token/faults.test.ts: every request is served by the next host',
    ],
    'access the documents': ['house/imports.test.ts: the token host loads none of the parsers of documents'],
  },
  'Root on the machine': {
    'copy a private key out of an HSM': [
      'token/token-client.test.ts: makes private keys sensitive, never extractable and for signing alone',
    ],
  },
};

/** Attackers of the page with the points of their lists. */
function attackers(): Map<string, { can: string[]; cannot: string[] }> {
  const [, section = ''] = /\n## Attackers\n([^]*?)\n## /.exec(page) ?? [];
  const found = new Map<string, { can: string[]; cannot: string[] }>();
  for (const part of section.split('\n### ').slice(1)) {
    const [name = '', ...lines] = part.split('\n');
    const [can = '', cannot = ''] = lines.join('\n').split('\nCannot:\n');
    const points = (text: string): string[] => text.split('\n- ').slice(1);
    found.set(name, { can: points(can), cannot: points(cannot) });
  }
  return found;
}

describe('the security model', () => {
  it('names the same attackers as the tests, each with what they can and cannot do', () => {
    const found = attackers();
    expect([...found.keys()]).toEqual(Object.keys(heldBy));
    for (const [name, { can, cannot }] of found) {
      expect(can.length, name).toBeGreaterThan(0);
      expect(cannot.length, name).toBeGreaterThan(0);
    }
  });

  it.each(Object.entries(heldBy))('promises of %s what tests hold', (name, held) => {
    const promises = attackers().get(name)?.cannot ?? [];
    expect(promises.map((promise) => Object.keys(held).find((start) => promise.startsWith(start)) ?? promise)).toEqual(Object.keys(held));
    for (const test of Object.values(held).flat()) {
      const [file = '', title = ''] = test.split(/: (.*)/);
      const path = join(root, 'test', file);
      expect(existsSync(path), file).toBe(true);
      expect(readFileSync(path, 'utf8').includes(title), test).toBe(true);
    }
  });
});
