import type { StateComparison, Lacking } from '../audit/compare-state.ts';
import type { CountedKey } from '../state/repositories/attempts.ts';
import { lockRule } from '../keys/key-record.ts';
import type { LastCrl } from '../state/repositories/catching-up.ts';
import { step, type Step } from '../state/step.ts';
import { clientRemedies, type Done, type KnownClients } from './catch-up-clients.ts';

/**
 * CRL numbers are at least the seconds since 1970. This many are skipped, since the last
 * publisher's clock may have been that far ahead.
 */
const crlNumbersLeftOut = 3600;

/** Effect of a confirmation on a change that the state store lacks. */
export interface Remedy {
  readonly lacking: Lacking;
  /** Description for the operator. */
  readonly remedy: string;
  /** Whether the change cannot be applied again. */
  readonly isLost: boolean;
  /** Whether the operator must know of it, as of what is lost. */
  readonly isNoted: boolean;
  /** Without those that a later change of the same subject supersedes. */
  readonly steps: readonly Step[];
}

/** The changes to apply again in one commit, and those that are lost. */
export interface CatchUp {
  readonly remedies: readonly Remedy[];
  readonly steps: readonly Step[];
}

/**
 * Brings a state store that is older than the audit log up to date: revocations, holds and their
 * releases, keys that were removed or used up, failed attempts, clients that were revoked or
 * changed. `now`: time of the store, milliseconds since the epoch. `lastCrls`: of retired authorities.
 */
export function catchUp({ lacking }: StateComparison, clients: KnownClients, now: number, lastCrls: readonly LastCrl[] = []): CatchUp {
  const last = lastOfEach(lacking);
  const rule = { ...lockRule, now };
  const ofClient = clientRemedies(lacking, clients, now);
  const remedies = lacking.map((one): Remedy => {
    const subject = subjectOf(one);
    const isLast = subject === undefined || last.get(subject) === one;
    const { remedy, isLost = false, isNoted = false, steps, lasting = [] } = isOfClient(one) ? ofClient(one) : remedyOf(one, now);
    return { lacking: one, remedy, isLost, isNoted: isLost || isNoted, steps: [...(isLast ? steps : []), ...lasting] };
  });
  const failures = [...failuresByKey(lacking).values()].map(({ key, failures: count }) =>
    step('countFailuresAgain', { ...key, failures: count, rule }),
  );
  const always = [step('dropOtps'), step('withdrawCrls', { least: Math.floor(now / 1000) + crlNumbersLeftOut, last: lastCrls })];
  return { remedies, steps: [...remedies.flatMap(({ steps }) => steps), ...failures, ...always] };
}

/** Whether it is a registration or a revocation of a client. */
function isOfClient({ by, effect: { effect, change } }: Lacking): boolean {
  return change?.kind === 'client revocation' || (by === effect && (by === 'client add' || by === 'client revoke'));
}

function remedyOf(one: Lacking, now: number): Done {
  const { key, effect, usedToken } = one;
  const { change } = effect;
  switch (change?.kind) {
    case 'revocation': {
      const { authority, serialNumber, reason, date, notAfter } = change;
      if (reason === null) return { remedy: 'released again', steps: [step('releaseAgain', { sha1: key, authority, serialNumber })] };
      const revocation = { authority, serial_number: serialNumber, reason, revoked_at: date, not_after: notAfter };
      return { remedy: 'revoked or held again', steps: [step('revokeAgain', { sha1: key, ...revocation })] };
    }
    case 'key end':
      return {
        remedy: 'ended again',
        steps: key === undefined ? [] : [step('endKeyAgain', { reference: key, state: change.state, now })],
      };
    case 'password': {
      const { failuresSinceSuccess } = lockRule;
      const counted = countedKey(one);
      const steps = counted === undefined ? [] : [step('lockForOperator', { ...counted, failuresSinceSuccess })];
      const command = change.identity === undefined ? 'key unlock' : 'twoddoc identity unlock';
      return { remedy: `locked until signetctl ${command}, since the old password would be valid again`, steps };
    }
    case 'failed attempt':
      return { remedy: 'counted again', steps: [] };
    case 'creation': {
      const { tokenKey, authority, serialNumber } = change;
      const token = usedToken === undefined ? [] : [step('useIdentityTokenAgain', { id: usedToken.id, ends_at: usedToken.until })];
      return {
        remedy: `lost: certificate ${serialNumber} of ${authority} is now unknown; its private key ${tokenKey} stays on the token`,
        isLost: true,
        steps: [step('leaveKeyAlone', tokenKey), ...token],
      };
    }
    case 'client revocation':
    case undefined:
      return one.by === effect.effect ? ofCommand(one, now) : { remedy: 'not needed', steps: [] };
  }
}

/** Remedy for an operator's command. */
function ofCommand({ by, key }: Lacking, now: number): Done {
  switch (by) {
    case 'key remove':
      return {
        remedy: 'ended again',
        steps: key === undefined ? [] : [step('endKeyAgain', { reference: key, state: 'REMOVED', now })],
      };
    case 'identity remove':
      return { remedy: 'ended again', steps: key === undefined ? [] : [step('removeIdentityAgain', { reference: key, now })] };
    case 'token accept':
      // Nobody knows here which of the two tokens the service goes on with.
      return { remedy: 'lost: to go on with the token that was accepted, give signetctl token accept again', isLost: true, steps: [] };
    default:
      return { remedy: 'not needed', steps: [] };
  }
}

/** Subject of a change, if only the last of several changes to the same subject counts. */
function subjectOf({ by, key, effect: { change } }: Lacking): string | undefined {
  if (change?.kind === 'revocation') return `certificate ${change.authority} ${change.serialNumber}`;
  if (change?.kind === 'key end' || by === 'key remove' || by === 'identity remove') return `key ${key ?? ''}`;
  if (change?.kind === 'password') return `password ${change.identity ?? key ?? ''}`;
  return undefined;
}

function lastOfEach(lacking: readonly Lacking[]): ReadonlyMap<string | undefined, Lacking> {
  return new Map(lacking.map((one) => [subjectOf(one), one]));
}

/** Returns the key whose attempts a change concerns. */
function countedKey({ key, by, effect: { change } }: Lacking): CountedKey | undefined {
  const identity = change?.kind === 'failed attempt' || change?.kind === 'password' ? change.identity : undefined;
  if (identity !== undefined) return { table: 'identity_keys', reference: identity };
  // A command on an identity names its row.
  const table = by === 'identity unlock' ? 'identity_keys' : 'keys';
  return key === undefined ? undefined : { table, reference: key };
}

/** Counts failed attempts since each key was last unlocked. */
function failuresByKey(lacking: readonly Lacking[]): ReadonlyMap<string, { readonly key: CountedKey; failures: number }> {
  const counted = new Map<string, { readonly key: CountedKey; failures: number }>();
  for (const one of lacking) {
    const key = countedKey(one);
    if (key === undefined) continue;
    const isUnlocked = one.by === 'key unlock' || one.by === 'identity unlock';
    if (!isUnlocked && one.effect.change?.kind !== 'failed attempt') continue;
    const name = `${key.table ?? 'keys'} ${key.reference}`;
    counted.set(name, { key, failures: isUnlocked ? 0 : (counted.get(name)?.failures ?? 0) + 1 });
  }
  return counted;
}
