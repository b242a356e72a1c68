import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT, type JWTPayload } from 'jose';
import { readFileSync } from 'node:fs';
import { ScratchAuthority } from '../../support/scratch-authority.ts';

export const issuer = 'https://idp.example.org';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  /** As the provider publishes it. */
  readonly jwk: object;
}

/** A key of P-256 that signs tokens by ES256. */
export function signingKey(kid: string): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { kid, alg: 'ES256', privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' } };
}

export const now = (): number => Math.floor(Date.now() / 1000);

export function claims(changes: JWTPayload = {}): JWTPayload {
  return { iss: issuer, aud: 'signetd', exp: now() + 300, name: 'Zoé Martin', address: { country: 'FR' }, ...changes };
}

export async function tokenOf({ kid, alg, privateKey }: SigningKey, payload = claims(), header: object = {}): Promise<string> {
  return new SignJWT(payload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
}

/** A server with TLS that stands for a provider's, and files of a test. */
export class ProviderServer {
  readonly directory = mkdtempSync(join(tmpdir(), 'signetd-provider-'));
  readonly authority = new ScratchAuthority(this.directory, 'provider');
  requests = 0;
  #server: Server | undefined;

  file(name: string, content: string): string {
    const path = join(this.directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }

  /** Answers the URL. */
  async start(listener: RequestListener): Promise<string> {
    const tls = this.authority.issue('localhost', { extendedKeyUsage: 'serverAuth', subjectAltName: 'DNS:localhost' });
    const server = createServer({ cert: readFileSync(tls.certificate), key: readFileSync(tls.key) }, (request, response) => {
      this.requests += 1;
      listener(request, response);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, 'localhost', resolve);
    });
    this.#server = server;
    return `https://localhost:${(server.address() as AddressInfo).port}/jwks`;
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
    this.#server = undefined;
    this.requests = 0;
  }

  remove(): void {
    this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
