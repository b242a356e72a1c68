import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isSelfSigned, pathCertificate } from '../../x509/path/path-certificate.ts';
import { chainsOf } from '../../certificates/chains.ts';

interface AuthorityFiles {
  readonly certificate: string;
  readonly chain: readonly string[];
  readonly crossCertificates: readonly string[];
}

/**
 * Returns the files of the chain above a certificate that this authority issues, the root last. If
 * another root has certified the authority, the chain goes on to that root: whoever trusts one of
 * the two then finds a path, since a path may end at any trusted certificate on the way. Otherwise
 * it is the configured chain.
 */
export function chainBelow({ certificate, chain, crossCertificates }: AuthorityFiles): string[] {
  const configured = [certificate, ...chain];
  const files = [...configured, ...crossCertificates];
  const known = files.map((file) => new X509Certificate(readFileSync(file)));
  const [own] = known;
  if (own === undefined) return configured;
  const fileOf = (der: Uint8Array): string => files[known.findIndex(({ raw }) => raw.equals(der))] ?? certificate;
  const [longest = []] = chainsOf(own, known)
    .filter((one) => isRoot(one.at(-1)))
    .toSorted((left, right) => right.length - left.length);
  return longest.length > configured.length ? longest.map(fileOf) : configured;
}

function isRoot(der: Uint8Array | undefined): boolean {
  return der !== undefined && isSelfSigned(pathCertificate(der));
}
