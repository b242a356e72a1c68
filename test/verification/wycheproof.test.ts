import { createPublicKey } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { hasSoundExponent } from '../../src/verification/public-key.ts';
import type { DataAlgorithm } from '../../src/verification/verify-value.ts';
import { placesForMessages, type Place } from './places.ts';

/**
 * The vectors of Project Wycheproof themselves, as `wycheproof.sh` fetches them. `bad-values.test.ts` has the same classes made by rule, and needs nothing from outside.
 */
const directory = join(process.env['SIGNETD_TOOLS_CACHE'] ?? join(homedir(), '.cache/signetd-tools'), 'wycheproof-1.0.29');
const hashes = { 'SHA-1': 'sha1', 'SHA-224': 'sha224', 'SHA-256': 'sha256', 'SHA-384': 'sha384', 'SHA-512': 'sha512' } as const;
const Hash = z.enum(['SHA-1', 'SHA-224', 'SHA-256', 'SHA-384', 'SHA-512']).transform((name) => hashes[name]);
const hex = z.string().transform((text) => Buffer.from(text, 'hex'));
const tests = z.array(
  z.object({ tcId: z.int(), flags: z.array(z.string()), msg: hex, sig: hex, result: z.enum(['valid', 'invalid', 'acceptable']) }),
);
const common = { publicKeyDer: hex, tests };
const Group = z.discriminatedUnion('type', [
  z.object({ type: z.literal('RsassaPkcs1Verify'), sha: Hash, ...common }),
  z.object({ type: z.literal('RsassaPssVerify'), sha: Hash, mgfSha: Hash, sLen: z.int(), ...common }),
  z.object({ type: z.literal('EcdsaVerify'), sha: Hash, ...common }),
  z.object({ type: z.literal('EcdsaP1363Verify'), sha: Hash, ...common }),
  z.object({ type: z.literal('EddsaVerify'), ...common }),
]);
const File = z.object({ testGroups: z.array(z.unknown()) });

/** Files of the schemes, curves and hashes that are verified here. */
const wanted =
  /^(rsa_signature_\d+_sha(224|256|384|512)|rsa_pss_(\d+_sha(1|224|256|384|512)_mgf1.*\d|misc)|ecdsa_secp(256|384|521)r1_sha(224|256|384|512)(_p1363)?|ed25519)_test\.json$/;
// Without them, the one test that says so is all there is.
const files = existsSync(directory) ? readdirSync(directory).filter((name) => wanted.test(name)) : [];

function algorithmOf(group: z.output<typeof Group>): DataAlgorithm {
  switch (group.type) {
    case 'RsassaPkcs1Verify':
      return { scheme: 'RSA_PKCS1', hash: group.sha };
    case 'RsassaPssVerify':
      return { scheme: 'RSA_PSS', hash: group.sha, mgfHash: group.mgfSha, saltBytes: group.sLen };
    case 'EcdsaVerify':
    case 'EcdsaP1363Verify':
      return { scheme: 'ECDSA', hash: group.sha };
    case 'EddsaVerify':
      return { scheme: 'EDDSA' };
  }
}

it('has vectors', (context) => {
  if (files.length === 0) context.skip('sh test/verification/wycheproof.sh fetches the vectors');
  expect(files.length).toBeGreaterThan(30);
});

it.each(files)('%s: every place judges each value as it says', (name) => {
  const { testGroups } = File.parse(JSON.parse(readFileSync(join(directory, name), 'utf8')));
  const wrong: string[] = [];
  let judged = 0;
  for (const one of testGroups) {
    const { success, data: group } = Group.safeParse(one);
    // Of the files with groups of many hashes, those that are not verified here.
    if (!success) continue;
    const key = createPublicKey({ key: group.publicKeyDer, format: 'der', type: 'spki' });
    const algorithm = algorithmOf(group);
    // r‖s is a form of values that devices make. In every other place a value is in DER.
    const takesConcatenated = ({ name: place }: Place): boolean => place === 'as remoteSign takes it';
    const judges = placesForMessages.filter(
      (place) => place.takes(algorithm) && (group.type !== 'EcdsaP1363Verify' || takesConcatenated(place)),
    );
    for (const place of judges) {
      for (const { tcId, flags, msg, sig, result } of group.tests) {
        // DigestInfo without NULL is not what was signed. Keys of small order are the business of whoever certifies them.
        if (result === 'acceptable' && !flags.includes('MissingNull')) continue;
        const isOfSignerInfo = place.name.startsWith('in a SignerInfo');
        const expected = result === 'valid' && (!isOfSignerInfo || hasSoundExponent(key));
        judged += 1;
        if (place.verifies(key, algorithm, msg, sig) !== expected) wrong.push(`${place.name}: ${tcId} ${result} ${flags.join(' ')}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(judged).toBeGreaterThan(100);
});
