import { afterEach, describe, expect, it } from 'vitest';
import { newKeyId } from '../../src/token/key-id.ts';
import { skipNote } from '../support/skip-note.ts';
import { FaultyToken, makes } from './faulty-token.ts';

describe.each(makes)('on $make, a module that returns few objects at once', ({ make, missing }) => {
  let faulty: FaultyToken | undefined;
  afterEach(async () => {
    await faulty?.remove();
  });

  it.skipIf(missing !== undefined)(`has all its keys listed, also after another start${skipNote(missing)}`, async () => {
    faulty = await new FaultyToken({ clientSeconds: 20, make, variables: { FAULT_FIND_AT_MOST: '2' } }).start();
    const made = [faulty.key, faulty.callersKey];
    for (let count = 0; count < 9; count += 1) {
      const id = newKeyId('caller');
      await faulty.client.createKey(id, 'P-256');
      made.push(id);
    }
    for (let time = 1; time <= 2; time += 1) {
      await faulty.restart();
      expect((await faulty.client.listKeys()).map(({ id }) => id)).toEqual(expect.arrayContaining(made));
    }
  });
});
