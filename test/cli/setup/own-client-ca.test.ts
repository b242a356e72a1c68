import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTlsMaterial } from '../../../src/http/tls/material.ts';

it('the recipe of docs/setup.md makes a client CA, a client and a CRL that the API takes', () => {
  const [, recipe = ''] = /## A client CA of your own[^]*?```sh\n([^]*?)```/.exec(readFileSync('docs/setup.md', 'utf8')) ?? [];
  // Nobody is there to type a passphrase.
  const commands = recipe
    .replaceAll('-keyout client-ca.key', '-keyout client-ca.key -passout pass:phrase')
    .replaceAll(/-(CAkey|keyfile) client-ca\.key/g, '-$1 client-ca.key -passin pass:phrase')
    .replaceAll('pkcs12 -export', 'pkcs12 -export -passout pass:phrase');
  const directory = mkdtempSync(join(tmpdir(), 'signetd-recipe-'));
  const run = (script: string): string =>
    execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    run(commands);
    const verify = 'openssl verify -x509_strict -crl_check -purpose sslclient -CAfile client-ca.pem -CRLfile client-ca.crl billing.pem';
    expect(run(verify)).toBe('billing.pem: OK\n');
    expect(run('openssl pkcs12 -in billing.p12 -passin pass:phrase -nodes | grep -c BEGIN')).toBe('3\n');
    const [certificate, key, clientCertificateAuthority, crl] = ['billing.pem', 'billing.key', 'client-ca.pem', 'client-ca.crl'].map(
      (name) => join(directory, name),
    );
    const files = {
      certificate,
      key,
      clientCertificateAuthority,
      clientRevocationLists: [crl],
      clientRevocationUrls: [] as string[],
    } as Parameters<typeof readTlsMaterial>[0];
    expect(readTlsMaterial(files).lists).toHaveLength(1);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
