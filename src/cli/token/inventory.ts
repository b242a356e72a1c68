import { poolView } from '../../admin/key-view.ts';
import { PoolView } from '../../admin/views.ts';
import { loadConfig } from '../../config/config.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { isIdentityKey, isMacKeyId, keyPurpose, lacksPurpose, parseKeyId } from '../../token/key-id.ts';
import type { ObjectReport } from '../../token/wire/reports.ts';
import type { Outcome } from '../outcome.ts';
import { showProgress } from '../progress.ts';
import { look } from '../service.ts';
import { table } from '../table.ts';
import { withToken } from './token-access.ts';

/**
 * An object as it is shown. `pool`: the key was made ahead and belongs to no caller yet. `member`: that
 * of the configuration that names the key.
 */
type Shown = Omit<ObjectReport, 'owner'> & { readonly owner: ObjectReport['owner'] | 'pool'; readonly member?: string };

/** `token inventory`: lists signetd's objects on the token; others are only counted. */
export async function tokenInventory(configPath: string): Promise<Outcome> {
  return withToken(configPath, async (reports) => {
    const progress = showProgress({ work: 'token inventory', unit: 'objects' });
    const { objects, foreign } = await reports.inventory(progress.at).finally(progress.end);
    const { pooled, notes } = await keysMadeAhead(configPath, objects);
    const members = configuredKeys(configPath);
    const shown = objects.map((object): Shown => {
      const member = members.get(object.id);
      return { ...object, ...(pooled.has(object.id) ? { owner: 'pool' } : {}), ...(member === undefined ? {} : { member }) };
    });
    const sorted = shown.toSorted((left, right) => compare(left.owner, right.owner) || compare(left.id, right.id));
    const rows = sorted.map((object) => [
      object.owner,
      object.kind,
      object.type,
      idWords(object),
      word(object.sensitive),
      word(object.extractable),
      word(object.sign),
      object.label,
    ]);
    const others = Object.entries(foreign)
      .map(([kind, count]) => `${count} × ${kind}`)
      .join(', ');
    const owners = (owner: Shown['owner']): number => shown.filter((object) => object.owner === owner).length;
    return {
      json: { objects: sorted, foreign },
      text: [
        rows.length === 0 ? '' : table(['OWNER', 'KIND', 'TYPE', 'CKA_ID', 'SENSITIVE', 'EXTRACTABLE', 'SIGNS', 'LABEL'], rows),
        `${owners('service')} of the service, ${owners('caller')} of callers, ${owners('pool')} made ahead; other objects: ${others === '' ? 'none' : others}\n`,
      ].join(''),
      faults: objects.flatMap(faultsOf),
      notes,
    };
  });
}

/** Returns which of the keys nobody has yet: the state store knows, the token does not. */
async function keysMadeAhead(
  configPath: string,
  objects: readonly ObjectReport[],
): Promise<{ readonly pooled: ReadonlySet<string>; readonly notes: readonly string[] }> {
  if (objects.every(({ owner }) => owner !== 'caller')) return { pooled: new Set(), notes: [] };
  try {
    const { result } = await look(configPath, { command: 'pool list' }, { schema: PoolView, read: poolView });
    return { pooled: new Set(result.tokenIds), notes: [] };
  } catch (error) {
    return { pooled: new Set(), notes: [`keys made ahead are listed as those of callers: ${reasonOf(error)}`] };
  }
}

/**
 * Returns the members of the configuration that name a key, by its CKA_ID: the CA of the clients has a
 * root's key too. Empty if the configuration cannot be used.
 */
function configuredKeys(configPath: string): ReadonlyMap<string, string> {
  try {
    const { clientAuthority, certificateAuthorities, timeStampAuthority } = loadConfig(configPath);
    const members = [
      ...Object.entries(certificateAuthorities).map(([name, { keyId }]) => [keyId, `certificateAuthorities.${name}`] as const),
      ...(clientAuthority === undefined ? [] : [[clientAuthority.keyId, 'clientAuthority'] as const]),
      ...(timeStampAuthority === undefined ? [] : [[timeStampAuthority.keyId, 'timeStampAuthority'] as const]),
    ];
    return new Map(members.map(([keyId]) => [keyId, members.flatMap(([other, member]) => (other === keyId ? [member] : [])).join(', ')]));
  } catch {
    return new Map();
  }
}

/** Formats the CKA_ID, the purpose that it encodes, and the member that names it. */
function idWords({ id, kind, member }: Pick<Shown, 'id' | 'kind' | 'member'>): string {
  const known = parseKeyId(id);
  if (isMacKeyId(known)) return `${id} (checks passwords)`;
  const purpose = isIdentityKey(known)
    ? '2D-Doc identity'
    : (keyPurpose(known) ?? (lacksPurpose(known) && kind === 'private key' ? 'no purpose' : undefined));
  const words = [purpose, member].filter((one) => one !== undefined);
  return words.length === 0 ? id : `${id} (${words.join(', ')})`;
}

/** Reports keys that could leave the token (docs/token-host.md). */
function faultsOf({ kind, id, sensitive, extractable }: ObjectReport): string[] {
  if (kind !== 'private key' && kind !== 'secret key') return [];
  return [
    ...(sensitive === false ? [`key ${id} is not sensitive: its value can be read`] : []),
    ...(extractable === true ? [`key ${id} is extractable: it can leave the token`] : []),
  ];
}

function word(value: boolean | null): string {
  return value === null ? '-' : value ? 'yes' : 'no';
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
