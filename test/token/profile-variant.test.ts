import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyTypes } from '../../src/config/key-types.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { macKeyId, newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { TokenUnavailable } from '../../src/token/token.ts';
import { faultModule, type FaultModule } from '../support/fault-module.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-variant-'));
let scratch: ScratchToken;
let token: TokenClient;
let faults: FaultModule;
let environment: Record<string, string>;

/** A token with the quirks that real ones have: what SoftHSM does not ask for, it takes. */
beforeAll(async () => {
  const profile = join(directory, 'variant.yaml');
  writeFileSync(
    profile,
    stringify({
      vendor: 'SoftHSM with quirks',
      tried: true,
      source: ['this test'],
      modulePaths: ['/usr/lib/softhsm/libsofthsm2.so'],
      idAfterGeneration: true,
      privateKey: { omit: ['CKA_ALLOWED_MECHANISMS', 'CKA_DERIVE'] },
      publicKey: { onToken: true },
      macKey: { omit: ['CKA_ALLOWED_MECHANISMS', 'CKA_ENCRYPT', 'CKA_DECRYPT', 'CKA_WRAP', 'CKA_UNWRAP'] },
    }),
  );
  faults = faultModule();
  scratch = scratchToken({ profile, modulePath: faults.path });
  environment = { ...scratch.config.environment, ...faults.environment };
  token = await started();
});

afterAll(async () => {
  await token.stop();
  scratch.remove();
  faults.remove();
  rmSync(directory, { recursive: true, force: true });
});

async function started(): Promise<TokenClient> {
  const client = new TokenClient({ ...scratch.config, environment }, scratch.configPath, recordingLog());
  await client.start();
  return client;
}

const digest = createHash('sha256').update('document').digest();

async function signs(id: KeyId, publicKey: Uint8Array): Promise<boolean> {
  const key = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
  const rsa = key.asymmetricKeyType === 'rsa';
  const [value] = await token.signDigests(id, { scheme: rsa ? 'RSA_PKCS1' : 'ECDSA', hash: 'sha256' }, [digest]);
  return verify('sha256', Buffer.from('document'), rsa ? key : { key, dsaEncoding: 'ieee-p1363' }, value ?? Buffer.alloc(0));
}

/** The objects of one kind as pkcs11-tool lists them. */
function listed(type: 'privkey' | 'pubkey' | 'secrkey'): string {
  return execFileSync(
    'pkcs11-tool',
    ['--module', '/usr/lib/softhsm/libsofthsm2.so', '--login', '--pin', scratch.pin, '--list-objects', '--type', type],
    { env: { ...process.env, ...scratch.environment }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
}

describe('a token whose keys get their CKA_ID after generation', () => {
  it.each(keyTypes.filter((type) => type === 'RSA-2048' || type.startsWith('P-')))('makes and finds a key of type %s', async (type) => {
    const id = newKeyId('general');
    const publicKey = await token.createKey(id, type);
    expect(await signs(id, publicKey)).toBe(true);
    await token.stop();
    token = await started();
    expect(await signs(id, publicKey)).toBe(true);
    expect(listed('privkey')).toMatch(new RegExp(`label:\\s+signetd ${id}\\n\\s+ID:\\s+${id}`));
  });

  it('makes and finds an Ed25519 key and an HMAC key of the service, and destroys them', async () => {
    const [signer, mac] = [newKeyId('general'), newKeyId('general')];
    const publicKey = await token.messages.createMessageKey(signer, { scheme: 'Ed25519' });
    await token.messages.createMessageKey(mac, { scheme: 'HMAC', hash: 'sha384', bytes: 48 });
    await token.stop();
    token = await started();
    const message = Buffer.from('document');
    const value = await token.messages.signMessage(signer, { scheme: 'Ed25519' }, message);
    expect(verify(null, message, { key: Buffer.from(publicKey), format: 'der', type: 'spki' }, value)).toBe(true);
    const made = await token.messages.signMessage(mac, { scheme: 'HMAC', hash: 'sha384' }, message);
    expect(await token.messages.verifyMac(mac, 'sha384', message, made)).toBe(true);
    for (const id of [signer, mac]) await token.destroyKey(id);
    expect(listed('privkey') + listed('secrkey')).not.toMatch(new RegExp(`${signer}|${mac}`));
  });

  it('leaves no public key on the token', () => {
    expect(listed('pubkey')).not.toContain('signetd');
  });

  it('has one MAC key, with its identifier, whatever the number of starts', () => {
    expect(listed('secrkey').match(/signetd secrets/g)?.length).toBe(1);
    expect(listed('secrkey')).toContain(macKeyId);
  });

  it('and dies between the two: the key is destroyed by its label when its journal wants it', async () => {
    const id = newKeyId('general');
    faults.arm('C_SetAttributeValue crash');
    await expect(token.createKey(id, 'P-256')).rejects.toThrow(TokenUnavailable);
    expect((await token.listKeys()).map((key) => key.id)).not.toContain(id);
    expect(listed('privkey')).toMatch(new RegExp(`label:\\s+signetd ${id}\\n`));
    await token.destroyKey(id);
    expect(listed('privkey')).not.toContain(id);
    expect(listed('pubkey')).not.toContain(id);
  });

  it('leaves the keys of others alone, whatever their labels', async () => {
    const label = 'signetd of somebody else';
    execFileSync(
      'pkcs11-tool',
      [
        '--module',
        '/usr/lib/softhsm/libsofthsm2.so',
        '--login',
        '--pin',
        scratch.pin,
        '--keypairgen',
        '--key-type',
        'EC:prime256v1',
        '--label',
        label,
      ],
      { env: { ...process.env, ...scratch.environment }, stdio: 'ignore' },
    );
    await token.stop();
    token = await started();
    expect(listed('privkey')).toContain(label);
    expect((await token.listKeys()).every(({ id }) => /^(47|43)/.test(id))).toBe(true);
  });
});
