import { openssl } from './openssl.ts';

/**
 * What OpenSSL says of a CAdES signature (DER) under a root (PEM); `content`: of a detached one. @throws {Error} with what it says, where the signature does
 * not hold
 */
export function verifiedCades(cms: Uint8Array, root: string, content?: Uint8Array): string {
  const detached = content === undefined ? { args: [], files: {} } : { args: ['-content', '{content}'], files: { content } };
  const args = ['cms', '-verify', '-cades', '-binary', '-inform', 'DER', '-in', '{cms}', '-CAfile', '{root}', '-purpose', 'any'];
  return openssl([...args, '-out', '/dev/null', ...detached.args], { cms, root, ...detached.files });
}
