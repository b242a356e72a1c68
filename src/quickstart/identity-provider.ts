import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { layout } from './layout.ts';

const issuer = 'https://idp.quickstart.example';
const audience = 'signetd';
const algorithm = 'RS256';

/** Data needed to sign tokens in its place. */
export interface IdentityProviderDescription {
  readonly issuer: string;
  readonly audience: string;
  /** PEM file. */
  readonly signingKey: string;
  readonly keyId: string;
  readonly algorithm: string;
}

/** Its name in the tenants' configuration. */
export const identityProviderName = 'quickstart';

/** Makes the stand-in once: a key, and the key set that a provider would publish. */
export function makeIdentityProvider(): IdentityProviderDescription {
  const { directory, signingKey, keySet } = layout.identityProvider;
  if (!existsSync(keySet)) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(signingKey, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const key = { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid: keyId(), use: 'sig', alg: algorithm };
    writeFileSync(keySet, `${JSON.stringify({ keys: [key] }, undefined, 2)}\n`);
  }
  return { issuer, audience, signingKey, keyId: keyId(), algorithm };
}

/** Returns its section of the service's configuration. */
export function identityProviderSection(): object {
  return {
    [identityProviderName]: {
      issuer,
      audience: [audience],
      keys: { file: layout.identityProvider.keySet },
      algorithms: [algorithm],
      // One machine, one clock.
      clockToleranceSeconds: 0,
    },
  };
}

function keyId(): string {
  const key = createPublicKey(createPrivateKey(readFileSync(layout.identityProvider.signingKey)));
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url')
    .slice(0, 16);
}
