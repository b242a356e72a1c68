import { checkPath, type PathOptions, type ValidPath } from './check-path.ts';
import { PathFault } from './path-fault.ts';
import { Effort, TooMuchEffort } from './effort.ts';
import type { PathCertificate } from './path-certificate.ts';

/** No chain of names and keys ends at a trust anchor. */
export class NoAnchor extends PathFault {
  constructor() {
    super('no trust anchor leads to it', 0);
  }
}

/** More CA certificates than that stand in no real path. */
const maxCertificates = 12;
/** Cross-certificates can lead in circles without end: so many steps are tried. */
const maxSteps = 500;

/** Where issuers are looked for. */
export interface PathMaterial {
  readonly anchors: readonly PathCertificate[];
  /** CA certificates, in no order; those of strangers are allowed. */
  readonly intermediates: readonly PathCertificate[];
}

/**
 * The valid paths from a trust anchor down to a certificate, the likeliest first (RFC 4158 §2). At the end of all candidates, the fault of the one that
 * got furthest is thrown. A search that would cost too much ends with that fault. @throws {PathFault}
 */
export function* validPaths(target: PathCertificate, material: PathMaterial, options: PathOptions): Generator<ValidPath> {
  let fault: PathFault | undefined;
  let found = false;
  const { effort = new Effort() } = options;
  for (const { anchor, path } of candidates(target, material, options.at, effort)) {
    try {
      yield checkPath(anchor, path, { ...options, effort });
      found = true;
    } catch (error) {
      if (!(error instanceof PathFault) || error instanceof TooMuchEffort) throw error;
      fault = error;
    }
  }
  if (!found) throw fault ?? new NoAnchor();
}

/** The first valid path. @throws {PathFault} */
export function findPath(target: PathCertificate, material: PathMaterial, options: PathOptions): ValidPath {
  for (const valid of validPaths(target, material, options)) return valid;
  throw new NoAnchor();
}

interface Candidate {
  readonly anchor: PathCertificate;
  readonly path: readonly PathCertificate[];
}

/** Every chain of names and key identifiers up to an anchor, without circles. Signatures are judged by `checkPath`, the steps are counted. */
function* candidates(target: PathCertificate, { anchors, intermediates }: PathMaterial, at: Date, effort: Effort): Generator<Candidate> {
  const anchor = anchors.find(({ der }) => isSame(der, target.der));
  if (anchor !== undefined) yield { anchor, path: [] };
  let steps = 0;
  yield* upwards([target]);

  function* upwards(path: readonly PathCertificate[]): Generator<Candidate> {
    const [top] = path;
    if (top === undefined || (steps += 1) > maxSteps) return;
    for (const issuer of issuersOf(top, anchors, at, effort)) yield { anchor: issuer, path };
    if (path.length === maxCertificates) return;
    for (const issuer of issuersOf(top, intermediates, at, effort)) {
      if (!path.some((one) => isSameEntity(one, issuer))) yield* upwards([issuer, ...path]);
    }
  }
}

/** Those whose name fits and whose key signed it; valid ones and those whose key identifier fits come first. Who takes the first has no other verified. */
function* issuersOf(
  certificate: PathCertificate,
  from: readonly PathCertificate[],
  at: Date,
  effort: Effort,
): Generator<PathCertificate, void> {
  const { issuerName, authorityKeyIdentifier: wanted } = certificate;
  const rank = (one: PathCertificate): number =>
    (wanted !== undefined && one.subjectKeyIdentifier !== undefined && !isSame(wanted, one.subjectKeyIdentifier) ? 2 : 0) +
    (at < one.notBefore || at > one.notAfter ? 1 : 0);
  const named = from.filter((one) => one.subjectName.key === issuerName.key).toSorted((left, right) => rank(left) - rank(right));
  for (const one of named) if (effort.isSignedBy(certificate, one)) yield one;
}

/** One name with one key: to pass it twice is a circle (RFC 4158 §2.4.2). */
function isSameEntity(left: PathCertificate, right: PathCertificate): boolean {
  return left.subjectName.key === right.subjectName.key && isSame(left.subjectPublicKeyInfo, right.subjectPublicKeyInfo);
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
