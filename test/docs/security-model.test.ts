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
    'hold up others by the certificates of a handshake': [
      'http/tls/peer-certificates.test.ts: end the handshake before a signature is verified',
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
      'state/several-instances.long.test.ts: count failures together: twenty guesses at once at both are five',
    ],
    'try a few passwords on each of many keys': [
      'keys/sprayed-secrets.test.ts: are compared as often as its pace lets it, and then not even a right one is',
      'keys/sprayed-secrets.test.ts: are not compared with one that was right before, however many come at once',
    ],
    'have a new password accepted': ['keys/common-passwords.test.ts: a new password'],
    'lock a key by activation data or an authToken': ['keys/sprayed-secrets.test.ts: a secret that nobody can guess'],
    'hold up other tenants with certificates': [
      'certificates/strangers-chains.test.ts: is found in a thread if it has %s',
      'fuzz/verifiers.test.ts: is judged or refused with a code, and holds the event loop for a short time only',
      'x509/certificate-load.test.ts: is refused before it is parsed',
      'revocation/large-crl.test.ts: is hashed, searched and verified in a thread, for each certificate once',
    ],
    'hold up other tenants with the names of servers': ['outgoing/name-lookups.test.ts: names of one tenant are looked up one at a time'],
    'hold up other tenants with documents': [
      'threads/lane-shares.test.ts: serve another tenant while one keeps all of its own busy',
      'signatures/xades/reference-budget.test.ts: the references of existing signatures share what a document may cost',
    ],
    'hold up other tenants with fast connections': [
      'http/body/reading-turns.test.ts: long bodies hold the event loop no longer, however fast their connections are',
      'http/body/reading-turns.test.ts: bodies that nobody wants are read in turns, too',
      'http/api/early-answers.long.test.ts: is cut off if it sends without end to %s %o',
      'http/api/early-answer.test.ts: of a body that nobody wants little is read',
      'http/body/reading-turns.test.ts: a body %s',
      'http/body/reading-turns.test.ts: the refusal of a body in small pieces waits as its pace says',
      'http/body/fragmented-pace.test.ts: of bodies in small pieces, four are refused in a second, and none waits longer than five',
    ],
    'hold up other tenants with many requests at once': [
      'http/api/api.test.ts: before what another tenant sent before',
      'http/body/work-turns.test.ts: begins one large body at a time, of tenants by turns, whoever came first',
    ],
    'keep places of requests by leaving': [
      'http/body/reading-turns.test.ts: a body fails whose client has left before anybody reads it',
      'http/body/reading-turns.test.ts: a body fails whose client leaves before all that it sent is read',
    ],
    'fill the memory with large bodies': ['service/shared-memory.test.ts: memory that is let go does not pile up in a work thread either'],
    'have `sign` prepare documents in a thread': [
      'operations/sign/secret-first.test.ts: are not even read for a wrong secret, which counts once at most',
      'service/shared-threads.long.test.ts: serve another tenant meanwhile, and stop when their clients are gone',
    ],
    'hold up other tenants with signatures': [
      'token/dispatcher.test.ts: share the time of the token, not the number of requests',
      "token/shares.long.test.ts: a tenant's signatures do not wait for the hundreds",
    ],
    'of several tenants, take more than half': [
      'http/limits/request-quota.test.ts: leaves to the others half of the requests',
      'http/limits/places.test.ts: are for each tenant its share',
    ],
    'use up the rate of its tenant': [
      'http/limits/request-quota.test.ts: leaves to a client what it needs of the rate while another one asks for everything',
      'daemon/client-limits.test.ts: count all clients of a tenant together, and nobody else',
    ],
    'have the service ask a server that only a certificate names': [
      "outgoing/strangers-servers.test.ts: a server that a stranger's certificate names is not asked",
      "outgoing/strangers-servers.test.ts: that is no authority's: the configuration that names it is refused",
    ],
    "learn about servers in the operator's network": ['outgoing/hidden-failures.test.ts: if it %s; the operator learns why'],
  },
  'The author of a document that is signed or verified': {
    'have a change after a signature of a PDF pass': [
      'signatures/pades/verify/led-astray.test.ts: does not lead to a change that is not allowed, whatever it refers to',
    ],
    'hide a signature or a certification': [
      'signatures/pades/verify/gone-signatures.test.ts: does not hold any more',
      'signatures/pades/verify/gone-signatures.test.ts: forbids what it forbade',
      'signatures/pades/verify/gone-signatures.test.ts: counts where readers find a copy of it on a page',
      'signatures/pades/verify/gone-signatures.test.ts: has a byte range that is an object of its own',
    ],
    'have a signature by RSA below 1024 bits': ['signatures/weak-signatures.test.ts: validateSignatures of %s'],
    'turn the signed attributes': ['signatures/co-signatures.test.ts: whose attributes were turned into the content'],
    'hide elements of an XML document': [
      'signatures/xades/co-signing.test.ts: a ds:Signature that is no signature is refused wherever it stands',
    ],
    'hide a signed element of an XML document in a signature': [
      'signatures/xades/co-signing.test.ts: a signed element that was moved into another signature',
      'signatures/xades/co-signing.test.ts: a signed element that was moved into another place of a signature',
    ],
    'have another certificate of the same key count': [
      'signatures/xades/co-signing.test.ts: qualifying properties that are not signed bind no certificate',
      'signatures/xades/co-signing.test.ts: signed properties that were moved bind no certificate',
    ],
  },
  'Somebody with a copy of the state store or a backup': {
    sign: ['operations/secrets-at-rest.test.ts: holds no secret, and nothing to check a guess against'],
    'test a guess of a password': ['operations/secrets-at-rest.test.ts: holds no secret, and nothing to check a guess against'],
    'read a kept answer': ['sealed-parts/sealed-parts.test.ts: the sealed parts of an owner of the kind'],
  },
  'Somebody who can make a backup': {
    "have a restore write outside of signetd's places": [
      'backup/made-archives.test.ts: a backup of unknown origin',
      'backup/made-archives.test.ts: goes through no symbolic link that leads elsewhere',
    ],
    'have a restore that fails': ['backup/made-archives.test.ts: leaves no directory behind where one of them cannot be made'],
  },
  'Somebody who cuts off the syslog server': {
    'with `audit.syslog.required`': [
      'audit/hand-over.test.ts: are held up while the server acknowledges nothing, though it is connected',
      'audit/hand-over.test.ts: never go on for long without the server',
    ],
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
    'by changing the pool': ['keys/key-pool.long.test.ts: hands out no key whose row'],
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
      'keys/key-pool.long.test.ts: hands no key out again when yesterday’s copy of the store is restored',
    ],
  },
  'Another user of the machine': {
    'use the token': ['token/peers.test.ts: cannot be opened by the user of the daemon without the group, nor by strangers'],
    'administer the service': ['admin/socket.test.ts: is only for the user of the service, or for its group'],
    'see a request or a secret': [
      'service/guarded-memory.test.ts: opens no inspector in the daemon nor in the token host',
      'service/guarded-memory.test.ts: another process of the same user',
    ],
  },
  'A member of the group that reads the configuration': {
    'use the token': ['service/booted.long.test.ts: keep them and the readers of logs from the token host'],
    'administer the service': ['service/booted.long.test.ts: let those administrate who are in the group for it'],
    'learn a secret': ['cli/service-commands.long.test.ts: list and show say what is known of a key, and nothing of its secret'],
  },
  'An administrator': {
    'use the token but through the service': ['service/booted.long.test.ts: keep them and the readers of logs from the token host'],
    'give a command that changes something without a record': [
      'cli/service-commands.long.test.ts: is each command but status, with who gave it, and the log verifies',
      'admin/socket.test.ts: tells the command the user of its peer, as known to the kernel',
    ],
    'learn the secret of a key': [
      'cli/service-commands.long.test.ts: list and show say what is known of a key, and nothing of its secret',
      'admin/socket.test.ts: carries out exactly the requests that the protocol has, whatever is sent',
    ],
    'keep another administrator out': [
      'admin/socket.test.ts: has room for an operator, however many silent connections another user opens',
    ],
    'with `admin.approvals: 2`, have a command carried out': [
      'admin/four-eyes/decisions.test.ts: a command waits for a user of the other group',
      'admin/four-eyes/decisions.test.ts: nobody approves their own command',
      'admin/four-eyes/decisions.test.ts: of two decisions at once, one counts',
      'admin/four-eyes/commands.test.ts: signs a CA certificate once the very certificate is approved',
    ],
  },
  "Somebody who controls the daemon's process": {
    'copy a private key': ['token/token-client.test.ts: makes private keys sensitive, never extractable and for signing alone'],
    'use a key without a trace': [
      'audit/account.long.test.ts: names a signature, and the MAC, that were made over the socket of the host',
      'audit/account.long.test.ts: names what an authority signed without a record',
    ],
    'guess secrets without limit': ['token/wrong-secrets.test.ts: ends 301 guesses after 30'],
    'change what the host has written': [
      'audit/account-changes.test.ts: is detected, wherever a line was changed, removed, duplicated or moved',
      'service/booted.long.test.ts: let those administrate who are in the group for it',
    ],
    'have the certificate of a CA': ["token/purpose-structures.test.ts: is no CA's"],
    'have a root sign a certificate': ["token/purpose-structures.test.ts: is a responder's for OCSP alone"],
    'have the key of checkpoints name': ['token/key-purposes.test.ts: that a key follows it which this host has made, and no other'],
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
