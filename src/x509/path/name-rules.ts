import { isWithin } from './canonical-name.ts';
import type { Effort } from './effort.ts';
import type { GeneralName } from './general-names.ts';
import type { NameConstraints } from './name-constraints.ts';

/** All name constraints that apply to a certificate. */
export class NameRules {
  readonly #all: NameConstraints[] = [];
  readonly #effort: Effort;

  constructor(effort: Effort) {
    this.#effort = effort;
  }

  add(constraints: NameConstraints): void {
    this.#all.push(constraints);
  }

  /**
   * Returns why a name is not allowed, or undefined if it is (RFC 5280 §6.1.3 b, c).
   * @throws {TooMuchEffort}
   */
  faultOf(name: GeneralName): string | undefined {
    for (const { permitted, excluded } of this.#all) {
      this.#effort.compare(permitted.length + excluded.length);
      const isConstrained = (base: GeneralName): boolean => isSameForm(base, name);
      if (!permitted.some(isConstrained) && !excluded.some(isConstrained)) continue;
      // RFC 5280 4.2.1.10: a constrained name that cannot be compared is rejected.
      if (name.kind === 'other') return 'a name of a form whose constraints are not supported';
      if (name.kind === 'uri' && hostOf(name.text) === undefined) return 'a URI without a host name, although hosts are constrained';
      if (excluded.some((base) => isInSubtree(name, base))) return 'a name in an excluded subtree';
      const bases = permitted.filter((base) => isSameForm(base, name));
      if (bases.length > 0 && !bases.some((base) => isInSubtree(name, base))) return 'a name outside the permitted subtrees';
    }
    return undefined;
  }
}

function isSameForm(base: GeneralName, name: GeneralName): boolean {
  return base.kind === 'other' ? name.kind === 'other' && name.tag === base.tag : base.kind === name.kind;
}

/** A host in the form in which hosts are compared: `host.example.` is the same host. */
function comparable(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}

/** Whether a name lies in a subtree; false if their forms differ. */
function isInSubtree(name: GeneralName, base: GeneralName): boolean {
  if (name.kind === 'directory' && base.kind === 'directory') return isWithin(name.name, base.name);
  if (name.kind === 'ip' && base.kind === 'ip') return isInNetwork(name.octets, base.octets);
  if (name.kind !== base.kind || !('text' in name) || !('text' in base)) return false;
  switch (name.kind) {
    case 'email':
      return isMailboxOf(name.text, base.text);
    case 'dns':
      return isHostBelow(comparable(name.text), comparable(base.text).replace(/^\./, ''));
    case 'uri':
      return isHostOf(hostOf(name.text) ?? '', comparable(base.text));
  }
}

/**
 * A constraint is one mailbox, all mailboxes on a host, or (with a leading period) on all hosts
 * below a domain.
 */
function isMailboxOf(mailbox: string, constraint: string): boolean {
  const at = mailbox.lastIndexOf('@');
  const host = comparable(mailbox.slice(at + 1));
  const ruleAt = constraint.lastIndexOf('@');
  const rule = comparable(constraint.slice(ruleAt + 1));
  if (ruleAt !== -1) return mailbox.slice(0, at) === constraint.slice(0, ruleAt) && host === rule;
  return rule === '' || isHostOf(host, rule);
}

function isHostBelow(host: string, rule: string): boolean {
  return rule === '' || host === rule || host.endsWith(`.${rule}`);
}

/** Returns the host name of a URI; undefined if it is absent or an IP address. */
function hostOf(uri: string): string | undefined {
  const host = URL.canParse(uri) ? comparable(new URL(uri).hostname) : '';
  return host === '' || host.startsWith('[') || /^[\d.]+$/.test(host) ? undefined : host;
}

/** One host, or (with a leading period) all hosts below a domain. */
function isHostOf(host: string, rule: string): boolean {
  return rule.startsWith('.') ? host.endsWith(rule) && host.length > rule.length : host === rule;
}

function isInNetwork(address: Uint8Array, network: Uint8Array): boolean {
  if (network.length !== 2 * address.length) return false;
  return address.every((octet, index) => (octet & maskAt(network, index)) === ((network[index] ?? 0) & maskAt(network, index)));
}

function maskAt(network: Uint8Array, index: number): number {
  return network[network.length / 2 + index] ?? 0;
}
