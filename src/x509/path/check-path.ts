import { oids } from '../../asn1/object-identifiers.ts';
import { Effort } from './effort.ts';
import { NameRules } from './name-rules.ts';
import { keyUsageBits, type PathCertificate } from './path-certificate.ts';
import { PathFault } from './path-fault.ts';
import { PolicyGraph } from './policy-graph.ts';

/** Inputs of path validation (RFC 5280 §6.1.1). */
export interface PathOptions {
  /** Every certificate must be valid at this time. */
  readonly at: Date;
  /**
   * OID of extendedKeyUsage that the last certificate must allow. CA certificates that restrict
   * purposes must allow it as well.
   */
  readonly purpose?: string | undefined;
  /** user-initial-policy-set; absent: any-policy. */
  readonly policies?: ReadonlySet<string> | undefined;
  readonly explicitPolicy?: boolean | undefined;
  readonly policyMappingInhibited?: boolean | undefined;
  readonly anyPolicyInhibited?: boolean | undefined;
  /** Remaining effort of the search to which this path belongs; absent for a single path. */
  readonly effort?: Effort | undefined;
}

/** Result of path validation. */
export interface ValidPath {
  /**
   * From the certificate below the trust anchor to the last. Empty if the target is the anchor
   * itself.
   */
  readonly path: readonly PathCertificate[];
  readonly anchor: PathCertificate;
  readonly policies: ReadonlySet<string>;
}

/**
 * Validates a path (RFC 5280 §6.1, with the policies of RFC 9618), except for revocation, which
 * needs more than the path. The trust anchor provides only name and key (§6.1.1 d); its validity
 * and extensions are ignored.
 * @throws {PathFault}
 */
export function checkPath(anchor: PathCertificate, path: readonly PathCertificate[], options: PathOptions): ValidPath {
  const { effort = new Effort() } = options;
  const names = new NameRules(effort);
  const graph = new PolicyGraph();
  const length = path.length;
  let explicitPolicy = options.explicitPolicy === true ? 0 : length + 1;
  let policyMapping = options.policyMappingInhibited === true ? 0 : length + 1;
  let inhibitAnyPolicy = options.anyPolicyInhibited === true ? 0 : length + 1;
  let pathLength = length;
  let issuer = anchor;

  for (const [index, certificate] of path.entries()) {
    const isLast = index === length - 1;
    const fail = (message: string): never => {
      throw new PathFault(message, index);
    };
    if (!effort.isSignedBy(certificate, issuer)) fail("the signature does not verify under the issuer's key");
    if (options.at < certificate.notBefore) fail(`not valid before ${certificate.notBefore.toISOString()}`);
    if (options.at > certificate.notAfter) fail(`not valid after ${certificate.notAfter.toISOString()}`);
    if (certificate.issuerName.key !== issuer.subjectName.key) fail('the issuer name does not match');
    if (!certificate.isSelfIssued || isLast) checkNames(certificate, names, fail);
    graph.descend(certificate.policies, { anyPolicyAllowed: inhibitAnyPolicy > 0 || (!isLast && certificate.isSelfIssued) });
    if (explicitPolicy === 0 && graph.isEmpty) fail('no certificate policy is valid, but one is required');
    if (certificate.unknownCritical !== undefined) fail(`unknown critical extension ${certificate.unknownCritical}`);
    checkPurpose(certificate, options.purpose, isLast, fail);
    if (!isLast) prepareNext(certificate, index, fail);
    issuer = certificate;
  }
  return { path, anchor, policies: wrapUp() };

  /** RFC 5280 §6.1.4: applies a CA certificate to those below it. */
  function prepareNext(certificate: PathCertificate, index: number, fail: (message: string) => never): void {
    const mappings = certificate.policyMappings;
    if (mappings.some(({ issuerDomain, subjectDomain }) => issuerDomain === oids.anyPolicy || subjectDomain === oids.anyPolicy)) {
      fail('maps anyPolicy');
    }
    graph.map(mappings, { allowed: policyMapping > 0 });
    if (certificate.nameConstraints !== undefined) names.add(certificate.nameConstraints);
    if (!certificate.isSelfIssued) {
      explicitPolicy = Math.max(0, explicitPolicy - 1);
      policyMapping = Math.max(0, policyMapping - 1);
      inhibitAnyPolicy = Math.max(0, inhibitAnyPolicy - 1);
    }
    explicitPolicy = Math.min(explicitPolicy, certificate.requireExplicitPolicy ?? explicitPolicy);
    policyMapping = Math.min(policyMapping, certificate.inhibitPolicyMapping ?? policyMapping);
    inhibitAnyPolicy = Math.min(inhibitAnyPolicy, certificate.inhibitAnyPolicy ?? inhibitAnyPolicy);
    if (certificate.version !== 2 || !certificate.isCa) fail('not a CA certificate');
    if (!certificate.isSelfIssued) {
      if (pathLength <= 0) throw new PathFault('path length constraint exceeded', index);
      pathLength -= 1;
    }
    pathLength = Math.min(pathLength, certificate.pathLength ?? pathLength);
    if (certificate.keyUsage !== undefined && !certificate.keyUsage.has(keyUsageBits.keyCertSign))
      fail('its key usage does not allow signing certificates');
  }

  /** RFC 5280 §6.1.5: returns the policies under which the path is valid. */
  function wrapUp(): ReadonlySet<string> {
    const last = path.at(-1);
    if (last === undefined) return new Set([oids.anyPolicy]);
    explicitPolicy = last.requireExplicitPolicy === 0 ? 0 : Math.max(0, explicitPolicy - 1);
    const accepted = graph.accepted(options.policies ?? new Set([oids.anyPolicy]));
    if (explicitPolicy === 0 && accepted.size === 0) throw new PathFault('no certificate policy is valid, but one is required', length - 1);
    return accepted;
  }
}

/**
 * RFC 5280 §6.1.3 (b), (c). E-mail addresses in the subject count if there is no rfc822Name
 * (4.2.1.10).
 */
function checkNames(certificate: PathCertificate, names: NameRules, fail: (message: string) => never): void {
  const { subjectName, alternativeNames, subjectMailboxes } = certificate;
  const hasMailboxes = alternativeNames.some(({ kind }) => kind === 'email');
  const all = [
    ...(subjectName.relativeNames.length === 0 ? [] : [{ kind: 'directory' as const, name: subjectName }]),
    ...alternativeNames,
    ...(hasMailboxes ? [] : subjectMailboxes.map((text) => ({ kind: 'email' as const, text }))),
  ];
  for (const name of all) {
    const fault = names.faultOf(name);
    if (fault !== undefined) fail(fault);
  }
}

function checkPurpose(certificate: PathCertificate, purpose: string | undefined, isLast: boolean, fail: (message: string) => never): void {
  if (purpose === undefined) return;
  const purposes = certificate.extendedKeyUsage?.purposes;
  if (purposes === undefined && !isLast) return;
  const anyCounts = !isLast && purposes?.has(oids.anyExtendedKeyUsage) === true;
  if (purposes?.has(purpose) !== true && !anyCounts) fail(`its extended key usage does not include ${purpose}`);
}
