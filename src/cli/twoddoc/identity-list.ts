import { z } from 'zod';
import { identityKeyViews } from '../../admin/identity-commands.ts';
import { IdentityKeyView } from '../../admin/views.ts';
import { tenantId } from '../../clients/caller.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { readDigitalIdentity, type DigitalIdentity } from '../../twoddoc/identities/digital-identity.ts';
import type { Outcome } from '../outcome.ts';
import { look } from '../service.ts';
import { table } from '../table.ts';
import { withToken } from '../token/token-access.ts';

export const ListOptions = z.object({ tenant: z.string().optional() });

/** A digital identity as signetctl shows it. */
interface IdentityView {
  readonly tenant: string;
  readonly ca: string;
  readonly certificateId: string;
  /** Of the key, or of the certificate if there is no key. */
  readonly curve: string | null;
  /** `keyReference.reference`: SHA-1 of the certificate. */
  readonly reference: string | null;
  readonly notAfter: string | null;
  /** Codes of the types that configuration and certificate allow; null: any. */
  readonly types: readonly string[] | null;
  /** CKA_ID. */
  readonly tokenId: string | null;
  readonly state: string;
}

interface Configured {
  readonly tenant: string;
  readonly ca: string;
  readonly certificateId: string;
  /** The identity, or why its certificate cannot be used. */
  readonly identity: DigitalIdentity | string;
}

/**
 * `twoddoc identity list`: the configured identities and the keys on the token, with their states.
 */
export async function identityList(configPath: string, { tenant }: z.output<typeof ListOptions>): Promise<Outcome> {
  const answered = await look(
    configPath,
    { command: 'identity list' },
    { schema: z.array(IdentityKeyView), read: async (store) => identityKeyViews(store) },
  );
  const { keys, notes } = await withPresence(configPath, answered.result);
  const views = join(configured(loadConfig(configPath)), keys).filter((view) => tenant === undefined || view.tenant === tenant);
  const rows = views.map((view) => [
    ...[view.tenant, view.ca, view.certificateId, view.curve ?? '-', view.notAfter?.slice(0, 10) ?? '-'],
    ...[view.types?.join(',') ?? 'any', view.reference ?? '-', view.state],
  ]);
  return {
    json: views,
    text: table(['TENANT', 'CA', 'CERTIFICATE', 'CURVE', 'VALID UNTIL', 'TYPES', 'REFERENCE', 'STATE'], rows),
    notes: [...answered.notes, ...notes],
  };
}

/** Asks the token which keys it has, if the answer does not say so. */
async function withPresence(
  configPath: string,
  keys: readonly IdentityKeyView[],
): Promise<{ readonly keys: readonly IdentityKeyView[]; readonly notes: readonly string[] }> {
  if (keys.every(({ isOnToken }) => isOnToken !== null)) return { keys, notes: [] };
  const present = new Set<string>();
  try {
    const { notes = [] } = await withToken(configPath, async (reports) => {
      for (const { id } of (await reports.inventory()).objects) present.add(id);
      return { json: undefined, text: '' };
    });
    return { keys: keys.map((key) => ({ ...key, isOnToken: present.has(key.tokenId) })), notes };
  } catch (error) {
    return { keys, notes: [`the token was not asked for the keys: ${reasonOf(error)}`] };
  }
}

function configured({ tenants }: Config): Configured[] {
  return Object.entries(tenants).flatMap(([tenant, { twoDDoc }]) =>
    twoDDoc.identities.map((config) => {
      const { ca, certificateId } = config;
      try {
        return { tenant, ca, certificateId, identity: readDigitalIdentity(tenantId(tenant), config) };
      } catch (error) {
        return { tenant, ca, certificateId, identity: reasonOf(error) };
      }
    }),
  );
}

/** Joins the configured identities with the keys: either may lack the other. */
function join(identities: readonly Configured[], keys: readonly IdentityKeyView[]): IdentityView[] {
  const named = [...identities, ...keys];
  const names = new Map(named.map((one) => [nameOf(one), one]));
  return [...names]
    .toSorted(([left], [right]) => left.localeCompare(right, 'en'))
    .map(([name, { tenant, ca, certificateId }]) => {
      const key = keys.find((one) => nameOf(one) === name);
      const entry = identities.find((one) => nameOf(one) === name);
      const identity = typeof entry?.identity === 'object' ? entry.identity : undefined;
      return {
        ...{ tenant, ca, certificateId },
        curve: key?.type ?? identity?.curve ?? null,
        reference: identity?.reference ?? null,
        notAfter: identity?.certificate.notAfter.toISOString() ?? null,
        types: identity === undefined ? null : typesOf(identity),
        tokenId: key?.tokenId ?? null,
        state: stateOf(entry, key),
      };
    });
}

function nameOf({ tenant, ca, certificateId }: Pick<Configured, 'tenant' | 'ca' | 'certificateId'>): string {
  return `${tenant} ${ca} ${certificateId}`;
}

function typesOf({ types, certificateTypes }: DigitalIdentity): readonly string[] | null {
  if (types === undefined) return certificateTypes.size === 0 ? null : [...certificateTypes];
  return [...types].filter((type) => certificateTypes.size === 0 || certificateTypes.has(type));
}

/** Returns the first thing that keeps the identity from signing, in words; `ok` if nothing does. */
function stateOf(entry: Configured | undefined, key: IdentityKeyView | undefined, now = Date.now()): string {
  if (key?.isOnToken === false) return 'key missing on the token';
  if (entry === undefined) return 'waiting for its certificate: not in the configuration';
  const { identity } = entry;
  if (typeof identity === 'string') return `certificate cannot be used: ${identity}`;
  if (key === undefined) return 'no key: signetctl twoddoc identity add makes it';
  const { notBefore, notAfter, subjectPublicKeyInfo } = identity.certificate;
  if (Buffer.from(subjectPublicKeyInfo).toString('base64') !== key.publicKey) return 'certificate does not match the key';
  if (notAfter.getTime() <= now) return 'expired';
  if (notBefore.getTime() > now) return 'not valid yet';
  if (key.isLocked) return key.lockedUntil === null ? 'locked until signetctl twoddoc identity unlock' : `locked until ${key.lockedUntil}`;
  return 'ok';
}
