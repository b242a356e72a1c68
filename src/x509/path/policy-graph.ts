import { oids } from '../../asn1/object-identifiers.ts';

const { anyPolicy } = oids;

/** A policy that is valid at one depth of the path, and the policies expected one level below. */
interface PolicyNode {
  readonly policy: string;
  expected: Set<string>;
  readonly parents: Set<PolicyNode>;
}

export interface PolicyMapping {
  readonly issuerDomain: string;
  readonly subjectDomain: string;
}

/**
 * Valid policies of a path, as the graph of RFC 9618 §5, which replaces the tree of RFC 5280 §6.1:
 * its size is linear in the number of policies, not exponential in the depth.
 */
export class PolicyGraph {
  /** One map per depth, by policy. The last belongs to the current certificate. */
  #levels: Map<string, PolicyNode>[] = [new Map([[anyPolicy, { policy: anyPolicy, expected: new Set([anyPolicy]), parents: new Set() }]])];

  /** True if no policy is valid any longer. */
  get isEmpty(): boolean {
    return (this.#levels.at(-1)?.size ?? 0) === 0;
  }

  /**
   * RFC 9618 §5.3 (d), (e): adds the policies of the next certificate; undefined if it has no such
   * extension.
   */
  descend(policies: ReadonlySet<string> | undefined, { anyPolicyAllowed }: { readonly anyPolicyAllowed: boolean }): void {
    const above = this.#levels.at(-1) ?? new Map<string, PolicyNode>();
    const level = new Map<string, PolicyNode>();
    this.#levels.push(level);
    if (policies === undefined) {
      this.#levels = [level];
      return;
    }
    const add = (policy: string, parents: readonly PolicyNode[]): void => {
      level.set(policy, { policy, expected: new Set([policy]), parents: new Set(parents) });
    };
    const expecting = byExpected(above);
    const any = above.get(anyPolicy);
    for (const policy of policies) {
      if (policy === anyPolicy) continue;
      const parents = expecting.get(policy) ?? [];
      if (parents.length > 0) add(policy, parents);
      else if (any !== undefined) add(policy, [any]);
    }
    if (policies.has(anyPolicy) && anyPolicyAllowed) {
      for (const [policy, parents] of expecting) if (!level.has(policy)) add(policy, parents);
    }
    this.#prune();
  }

  /** RFC 9618 §5.4 (b): applies the mappings of a CA certificate to the certificates below it. */
  map(mappings: readonly PolicyMapping[], { allowed }: { readonly allowed: boolean }): void {
    const level = this.#levels.at(-1) ?? new Map<string, PolicyNode>();
    for (const [issuerDomain, ofDomain] of Map.groupBy(mappings, (mapping) => mapping.issuerDomain)) {
      if (!allowed) {
        level.delete(issuerDomain);
        continue;
      }
      const expected = new Set(ofDomain.map(({ subjectDomain }) => subjectDomain));
      const node = level.get(issuerDomain);
      const any = level.get(anyPolicy);
      if (node !== undefined) node.expected = expected;
      else if (any !== undefined) level.set(issuerDomain, { policy: issuerDomain, expected, parents: new Set(any.parents) });
    }
    this.#prune();
  }

  /**
   * RFC 9618 §5.5 (g): returns the policies, in the trust anchor's domain, under which the path is
   * valid and which the user accepts. `any-policy` stands for all of them.
   */
  accepted(userPolicies: ReadonlySet<string>): ReadonlySet<string> {
    const valid = this.#policiesOfAnchor();
    if (userPolicies.has(anyPolicy)) return valid;
    if (valid.has(anyPolicy)) return userPolicies;
    return new Set([...valid].filter((policy) => userPolicies.has(policy)));
  }

  /**
   * Returns the policies directly below any-policy, and any-policy itself if the last certificate
   * has it.
   */
  #policiesOfAnchor(): ReadonlySet<string> {
    const found = new Set<string>();
    for (const node of this.#levels.flatMap((level) => [...level.values()])) {
      if (node.policy !== anyPolicy && [...node.parents].some(({ policy }) => policy === anyPolicy)) found.add(node.policy);
    }
    if (this.#levels.at(-1)?.has(anyPolicy) === true) found.add(anyPolicy);
    return found;
  }

  /** Removes nodes above the last level that have no children. */
  #prune(): void {
    for (let depth = this.#levels.length - 1; depth > 0; depth -= 1) {
      const used = new Set([...(this.#levels[depth]?.values() ?? [])].flatMap(({ parents }) => [...parents]));
      const above = this.#levels[depth - 1];
      for (const [policy, node] of above ?? []) if (!used.has(node)) above?.delete(policy);
    }
  }
}

function byExpected(level: ReadonlyMap<string, PolicyNode>): Map<string, PolicyNode[]> {
  const found = new Map<string, PolicyNode[]>();
  for (const node of level.values()) {
    for (const policy of node.expected) {
      const nodes = found.get(policy);
      if (nodes === undefined) found.set(policy, [node]);
      else nodes.push(node);
    }
  }
  return found;
}
