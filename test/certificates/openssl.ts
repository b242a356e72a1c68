import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs the openssl command; throws with what it complained about when it fails. */
export function openssl(args: readonly string[], input: Uint8Array = new Uint8Array()): string {
  return execFileSync('openssl', [...args], { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
}

export function pem(der: Uint8Array, label = 'CERTIFICATE'): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** What `openssl verify -x509_strict` says of a leaf under a root, through the certificates between. */
export function opensslVerify(leaf: Uint8Array, between: readonly Uint8Array[], root: Uint8Array): string {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-verify-'));
  try {
    const path = (name: string): string => join(directory, name);
    writeFileSync(path('leaf.pem'), pem(leaf));
    writeFileSync(path('between.pem'), between.map((der) => pem(der)).join(''));
    writeFileSync(path('root.pem'), pem(root));
    const untrusted = between.length === 0 ? [] : ['-untrusted', path('between.pem')];
    return openssl(['verify', '-x509_strict', '-check_ss_sig', '-CAfile', path('root.pem'), ...untrusted, path('leaf.pem')]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
