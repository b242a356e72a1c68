import { afterEach, describe, expect, it } from 'vitest';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import { skipNote } from '../support/skip-note.ts';
import { FaultyToken, makes } from './faulty-token.ts';

/** Together the reads take longer than a host may take to start. */
const [keys, readMs] = [300, 105];
const startMaxMs = 30_000;

describe.each(makes)('on $make, a token that needs a tenth of a second to read an attribute, with 300 keys', ({ make, missing }) => {
  let faulty: FaultyToken | undefined;
  afterEach(async () => {
    await faulty?.remove();
  });

  it.skipIf(missing !== undefined)(
    `serves at once after each of two starts, and tells all keys later${skipNote(missing)}`,
    { timeout: 400_000 },
    async () => {
      faulty = await new FaultyToken({ clientSeconds: 25, make }).start();
      const made: KeyId[] = [faulty.key, faulty.callersKey];
      while (made.length < keys) {
        const id = newKeyId('caller');
        await faulty.client.createKey(id, 'P-256');
        made.push(id);
      }
      for (let time = 1; time <= 2; time += 1) {
        faulty.module.arm(`always C_GetAttributeValue delay ${readMs}`);
        const restartedAt = performance.now();
        await faulty.restart();
        const { hostPid } = faulty.client;
        expect(await faulty.sign()).toBe(1);
        expect(await faulty.signAsCaller()).toBe(true);
        const late = newKeyId('caller');
        await faulty.client.createKey(late, 'P-256');
        made.push(late);
        const [gone] = made.splice(5, 1);
        if (gone === undefined) throw new Error('no key to destroy');
        await faulty.client.destroyKey(gone);
        const [absent, some] = [newKeyId('caller'), made.slice(0, 10)];
        expect(await faulty.client.findKeys([...some, gone, absent])).toEqual(new Set(some));

        const listed = (await faulty.client.listKeys()).map(({ id }) => id);
        expect(performance.now() - restartedAt).toBeGreaterThan(startMaxMs);
        expect(listed).toEqual(expect.arrayContaining(made));
        expect(listed).not.toContain(gone);
        // No host was replaced meanwhile.
        expect(faulty.client.hostPid).toBe(hostPid);
        expect(await faulty.sign()).toBe(1);
        faulty.module.disarm();
      }
    },
  );
});
