import { setTimeout as delay } from 'node:timers/promises';
import { keyIdOf, type KeyId } from '../key-id.ts';
import { TokenUnavailable, type TokenKey } from '../token.ts';
import { statuses, type Answer, type OperationName } from '../wire/frames.ts';
import { keysInAnswerMax, keysToFindMax, writeFindKeys, writeListKeys } from '../wire/messages.ts';
import { bodyOf, listIn } from './answers.ts';

type Request = (operation: OperationName, body: Uint8Array) => Promise<Answer>;

/** How long a host may take to read which keys there are: 100,000 keys at 6 ms each. */
const listingMaxMs = 10 * 60_000;
const listingLookMs = 100;

/**
 * Returns all keys of signetd, once the host has read them.
 * @param pageKeys number of keys in each request
 * @throws {TokenUnavailable} also if the host has not read them within ten minutes
 */
export async function allKeys(request: Request, pageKeys = keysInAnswerMax): Promise<TokenKey[]> {
  const keys: TokenKey[] = [];
  const endMs = performance.now() + listingMaxMs;
  for (;;) {
    const answer = await request('listKeys', writeListKeys({ after: keys.at(-1)?.id, limit: pageKeys }));
    if (answer.status === statuses.notYet) {
      if (performance.now() > endMs) throw new TokenUnavailable('the token host has not read yet which keys are on the token');
      await delay(listingLookMs);
      continue;
    }
    const page = listIn(bodyOf(answer));
    keys.push(...page.map((id) => ({ id: keyIdOf(id) })));
    if (page.length < pageKeys) return keys;
  }
}

/** Returns those of these keys that are on the token. */
export async function keysThere(request: Request, ids: readonly KeyId[]): Promise<Set<KeyId>> {
  const there = new Set<KeyId>();
  for (let from = 0; from < ids.length; from += keysToFindMax) {
    const some = ids.slice(from, from + keysToFindMax);
    for (const id of listIn(bodyOf(await request('findKeys', writeFindKeys(some))))) there.add(keyIdOf(id));
  }
  return there;
}
