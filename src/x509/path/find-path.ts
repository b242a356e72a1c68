import { checkPath, type PathOptions, type ValidPath } from './check-path.ts';
import { Effort } from './effort.ts';
import { NoAnchor, PathFault, TooMuchEffort } from './path-fault.ts';
import type { PathCertificate } from './path-certificate.ts';

/** No real path has more certificates. */
const maxCertificates = 12;
/** Limit on steps, since cross-certificates can multiply paths. */
const maxSteps = 500;

/** Certificates among which issuers are searched. */
export interface PathMaterial {
  readonly anchors: readonly PathCertificate[];
  /** CA certificates in any order; they need not be trusted. */
  readonly intermediates: readonly PathCertificate[];
}

/**
 * Yields the valid paths from a trust anchor to a certificate, the likeliest first (RFC 4158 §2).
 * If there is none, the fault of the last candidate is thrown, or that of an issuer's key. A search that costs too much ends
 * with `TooMuchEffort`.
 * @throws {PathFault}
 */
export function* validPaths(target: PathCertificate, material: PathMaterial, options: PathOptions): Generator<ValidPath> {
  let fault: PathFault | undefined;
  let found = false;
  const { effort = new Effort() } = options;
  const refused = new Set<string>();
  for (const { anchor, path } of candidates(target, material, { at: options.at, effort, refused })) {
    try {
      yield checkPath(anchor, path, { ...options, effort });
      found = true;
    } catch (error) {
      if (!(error instanceof PathFault) || error instanceof TooMuchEffort) throw error;
      fault = error;
    }
  }
  const [keyFault] = refused;
  if (!found) throw fault ?? (keyFault === undefined ? new NoAnchor() : new PathFault(`the key of its issuer ${keyFault}`, 0));
}

/** Returns the first valid path. @throws {PathFault} */
export function findPath(target: PathCertificate, material: PathMaterial, options: PathOptions): ValidPath {
  for (const valid of validPaths(target, material, options)) return valid;
  throw new NoAnchor();
}

interface Candidate {
  readonly anchor: PathCertificate;
  readonly path: readonly PathCertificate[];
}

/** One search. */
interface Search {
  readonly at: Date;
  readonly effort: Effort;
  /** Gets the faults of issuers' keys. */
  readonly refused: Set<string>;
}

/** Yields every chain up to an anchor, without cycles. The number of steps is limited. */
function* candidates(target: PathCertificate, { anchors, intermediates }: PathMaterial, search: Search): Generator<Candidate> {
  const anchor = anchors.find(({ der }) => isSame(der, target.der));
  if (anchor !== undefined) yield { anchor, path: [] };
  let steps = 0;
  yield* upwards([target]);

  function* upwards(path: readonly PathCertificate[]): Generator<Candidate> {
    const [top] = path;
    if (top === undefined || (steps += 1) > maxSteps) return;
    for (const issuer of issuersOf(top, anchors, search)) yield { anchor: issuer, path };
    if (path.length === maxCertificates) return;
    for (const issuer of issuersOf(top, intermediates, search)) {
      if (!path.some((one) => isSameEntity(one, issuer))) yield* upwards([issuer, ...path]);
    }
  }
}

/**
 * Yields the issuers whose name matches and whose key signed the certificate; first those that are
 * valid and whose key identifier matches. Signatures are verified lazily.
 */
function* issuersOf(
  certificate: PathCertificate,
  from: readonly PathCertificate[],
  { at, effort, refused }: Search,
): Generator<PathCertificate, void> {
  const { issuerName, authorityKeyIdentifier: wanted } = certificate;
  const rank = (one: PathCertificate): number =>
    (wanted !== undefined && one.subjectKeyIdentifier !== undefined && !isSame(wanted, one.subjectKeyIdentifier) ? 2 : 0) +
    (at < one.notBefore || at > one.notAfter ? 1 : 0);
  const named = from.filter((one) => one.subjectName.key === issuerName.key).toSorted((left, right) => rank(left) - rank(right));
  for (const one of named) {
    if (one.keyFault !== undefined) refused.add(one.keyFault);
    if (effort.isSignedBy(certificate, one)) yield one;
  }
}

/** Same name and same key: a path that contains it twice is a cycle (RFC 4158 §2.4.2). */
function isSameEntity(left: PathCertificate, right: PathCertificate): boolean {
  return left.subjectName.key === right.subjectName.key && isSame(left.subjectPublicKeyInfo, right.subjectPublicKeyInfo);
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
