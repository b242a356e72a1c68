import { readFileSync, writeFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { withOperatorToken } from '../cli/ca/token-work.ts';
import { lacksPurpose, parseKeyId, type KeyId } from '../token/key-id.ts';
import type { AssignablePurpose } from '../token/wire/messages.ts';
import { layout } from './layout.ts';

/** Members of the configuration that name keys on the token, with their purposes. */
const places: readonly { readonly at: readonly string[]; readonly purpose: AssignablePurpose }[] = [
  { at: ['certificateAuthorities', 'root', 'keyId'], purpose: 'root' },
  { at: ['certificateAuthorities', 'issuing', 'keyId'], purpose: 'authority' },
  { at: ['timeStampAuthority', 'keyId'], purpose: 'timeStamps' },
];

/**
 * Assigns purposes to the keys of a quickstart from before keys had purposes, as `signetctl token
 * purpose` does. The service must not be running. An interrupted run is completed by the next.
 */
export async function giveKeysTheirPurposes(): Promise<void> {
  const config = parseDocument(readFileSync(layout.config, 'utf8'));
  const without = places.flatMap(({ at, purpose }) => {
    const id = ownKeyId(config.getIn(at));
    return id === undefined ? [] : [{ at, purpose, id }];
  });
  if (without.length === 0) return;
  await withOperatorToken(layout.config, 'quickstart', async (token) => {
    for (const { at, purpose, id } of without) config.setIn(at, await token.assignPurpose(id, purpose));
  });
  writeFileSync(layout.config, String(config), { mode: 0o600 });
}

function ownKeyId(value: unknown): KeyId | undefined {
  if (typeof value !== 'string') return undefined;
  const id = parseKeyId(value);
  return lacksPurpose(id) ? id : undefined;
}
