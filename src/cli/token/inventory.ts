import { isIdentityKey, keyPurpose, lacksPurpose, macKeyId, parseKeyId } from '../../token/key-id.ts';
import type { ObjectReport } from '../../token/wire/reports.ts';
import type { Outcome } from '../outcome.ts';
import { showProgress } from '../progress.ts';
import { table } from '../table.ts';
import { withToken } from './token-access.ts';

/** `token inventory`: lists signetd's objects on the token; others are only counted. */
export async function tokenInventory(configPath: string): Promise<Outcome> {
  return withToken(configPath, async (reports) => {
    const progress = showProgress({ work: 'token inventory', unit: 'objects' });
    const { objects, foreign } = await reports.inventory(progress.at).finally(progress.end);
    const sorted = objects.toSorted((left, right) => compare(left.owner, right.owner) || compare(left.id, right.id));
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
    const owners = (owner: ObjectReport['owner']): number => objects.filter((object) => object.owner === owner).length;
    return {
      json: { objects: sorted, foreign },
      text: [
        rows.length === 0 ? '' : table(['OWNER', 'KIND', 'TYPE', 'CKA_ID', 'SENSITIVE', 'EXTRACTABLE', 'SIGNS', 'LABEL'], rows),
        `${owners('service')} of the service, ${owners('caller')} of callers; other objects: ${others === '' ? 'none' : others}\n`,
      ].join(''),
      faults: objects.flatMap(faultsOf),
    };
  });
}

/** Formats the CKA_ID and the purpose that it encodes. */
function idWords({ id, kind }: ObjectReport): string {
  const known = parseKeyId(id);
  if (known === macKeyId) return `${id} (checks passwords)`;
  const purpose = isIdentityKey(known)
    ? '2D-Doc identity'
    : (keyPurpose(known) ?? (lacksPurpose(known) && kind === 'private key' ? 'no purpose' : undefined));
  return purpose === undefined ? id : `${id} (${purpose})`;
}

/** Reports keys that could leave the token (docs/operating.md, Token). */
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
