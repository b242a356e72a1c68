import type { Lacking } from '../audit/compare-state.ts';
import type { ClientRow, RevokedClientRow } from '../state/tables/clients.ts';
import { step, type Step } from '../state/step.ts';

/** CRLReason unspecified (RFC 5280 §5.3.1). */
const unspecified = 0;

/** What a confirmation does with one change. */
export interface Done {
  readonly remedy: string;
  readonly isLost?: boolean;
  readonly isNoted?: boolean;
  readonly steps: readonly Step[];
  /** Done even if a later change of the same subject supersedes the others. */
  readonly lasting?: readonly Step[];
}

/** The clients that an older state store knows. */
export interface KnownClients {
  readonly registered: readonly ClientRow[];
  readonly revoked: readonly RevokedClientRow[];
}

/**
 * Returns the effect of a confirmation on each registration and each revocation of a client. Of each
 * public key, the last word of the log counts. A registration after a revocation counts only if it
 * says `again`: no other one was possible, so it was committed before the revocation.
 */
export function clientRemedies(lacking: readonly Lacking[], known: KnownClients, now: number): (one: Lacking) => Done {
  const last = new Map<string, Lacking>();
  /** The registration that each revocation ended. */
  const ended = new Map<Lacking, Lacking>();
  const added = new Map<string, Lacking>();
  for (const one of lacking) {
    if (one.spki === undefined) continue;
    if (one.by === 'client add') {
      added.set(one.spki, one);
      if (last.get(one.spki)?.by !== 'client revoke' || one.again === true) last.set(one.spki, one);
    } else if (one.by === 'client revoke') {
      const registration = added.get(one.spki);
      if (registration !== undefined) ended.set(one, registration);
      last.set(one.spki, one);
    }
  }
  return (one) => {
    const final = (one.spki === undefined ? undefined : last.get(one.spki)) ?? one;
    return one.by === 'client revoke' ? ofRevocation(one, final, ended.get(one)) : ofRegistration(one, final, { known, now });
  };
}

function ofRevocation(one: Lacking, final: Lacking, ended: Lacking | undefined): Done {
  const { change } = one.effect;
  const said = change?.kind === 'client revocation' ? change : undefined;
  const date = said?.date ?? Date.parse(one.time);
  // Registered again later (`--again`), the client still has no use of these certificates.
  const lasting = (said?.certificates ?? []).map(({ authority, serialNumber, notAfter }) =>
    step('revokeAgain', {
      ...{ sha1: undefined, authority, serial_number: serialNumber, reason: unspecified, revoked_at: date, not_after: notAfter },
    }),
  );
  if (final.by === 'client add') return { remedy: `registered again later (record ${final.record})`, steps: [], lasting };
  if (final !== one || one.spki === undefined) return { remedy: 'revoked again', steps: [], lasting };
  const revokedAt = said?.at ?? date;
  const revoked: RevokedClientRow = {
    spki_sha256: said?.publicKey ?? one.spki,
    name: one.client ?? '',
    tenant: one.tenant ?? '',
    registered_at: said?.registered ?? (ended === undefined ? revokedAt : Date.parse(ended.time)),
    revoked_at: revokedAt,
    not_after: said?.notAfter ?? endOf(ended) ?? null,
  };
  return { remedy: 'revoked again', steps: [step('revokeClientAgain', { spki: one.spki, revoked })], lasting };
}

interface Store {
  readonly known: KnownClients;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

function ofRegistration(one: Lacking, final: Lacking, { known, now }: Store): Done {
  const { spki, client, tenant, roles, authority, certificate } = one;
  if (final.by === 'client revoke')
    return { remedy: `revoked later (record ${final.record}): do not register it again`, isNoted: true, steps: [] };
  if (final !== one) return { remedy: `registered again later (record ${final.record})`, steps: [] };
  const isKey = ({ spki_sha256: key }: Pick<ClientRow, 'spki_sha256'>): boolean => spki !== undefined && key.startsWith(spki);
  const row = known.registered.find(isKey);
  if (row !== undefined && client !== undefined && tenant !== undefined && roles !== undefined) {
    const validity = certificate && { not_before: Date.parse(certificate.notBefore), not_after: Date.parse(certificate.notAfter) };
    const steps: Step[] = [step('registerClient', { ...row, ...validity, name: client, tenant, roles: JSON.stringify(roles) })];
    if (authority !== undefined && certificate !== undefined)
      steps.push(
        step('noteClientCertificate', {
          ...{ authority, serial_number: certificate.serialNumber, spki_sha256: row.spki_sha256 },
          ...{ not_after: Date.parse(certificate.notAfter), now },
        }),
      );
    return { remedy: 'changed again', steps };
  }
  const revoked = known.revoked.find(isKey);
  const before = Date.parse(one.time);
  const isForgotten = one.again === true && revoked !== undefined && revoked.revoked_at < before;
  if (revoked !== undefined && !isForgotten) {
    const when = new Date(revoked.revoked_at).toISOString();
    return { remedy: `its key was revoked (${when}, client list --revoked): do not register it again`, isNoted: true, steps: [] };
  }
  return {
    remedy: `lost: register ${client ?? 'the client'} again`,
    isLost: true,
    steps: isForgotten && spki !== undefined ? [step('forgetRevocation', { spki, before })] : [],
  };
}

function endOf(added: Lacking | undefined): number | undefined {
  return added?.certificate === undefined ? undefined : Date.parse(added.certificate.notAfter);
}
