import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { recordingLog } from '../support/silent-log.ts';
import { databases } from './databases.ts';

const now = 1_900_000_000_000;
const seconds = now / 1000;
const dayMs = 86_400_000;

describe.each(Object.entries(databases))('numbers of CRLs in %s', (_name, make) => {
  const database = make();
  let store: StateStore;
  let authority = '';
  let authorities = 0;

  beforeAll(async () => {
    await database.start();
    store = await openStateStore(await database.fresh(), recordingLog());
  });
  afterAll(async () => {
    await store.close();
    await database.stop();
  });
  beforeEach(() => {
    authorities += 1;
    authority = `ca ${authorities}`;
  });

  interface Claim {
    readonly signer?: string;
    readonly signerSince?: number;
    readonly ignoreClaim?: boolean;
    readonly ignoreNewer?: boolean;
    readonly minGapMs?: number;
    readonly endsBefore?: number;
    readonly madeSince?: number;
  }

  async function claimed(at: number, more: Claim = {}): Promise<number | undefined> {
    const request = {
      ...{ authority, now: at, claimedUntil: at + 60_000, ignoreClaim: false, minGapMs: 0, endsBefore: at, madeSince: 0 },
      ...{ signer: 'a', signerSince: 5, ignoreNewer: false, keepExpired: false },
    };
    return (await store.run('claimCrl', { ...request, ...more }))?.number;
  }

  async function published(number: number, at: number, signer = 'a', signerSince = 5): Promise<boolean> {
    const times = { this_update: at, next_update: at + dayMs };
    const revision = (await store.run('crlState', authority))?.revision ?? 0;
    const by = { signer, signer_since: signerSince, published_revision: revision };
    return store.run('publishCrl', { authority, number, der: Buffer.of(number % 256), ...by, ...times });
  }

  it('begin with the seconds since 1970, and take them up again where they have fallen behind', async () => {
    expect(await claimed(now)).toBe(seconds);
    await published(seconds, now);
    expect(await claimed(now + dayMs)).toBe(seconds + 86_400);
  });

  it('go on by one where they are ahead of the clock: in the same second, and after a clock was set back', async () => {
    expect(await claimed(now)).toBe(seconds);
    await store.run('giveUpCrl', { authority, number: seconds });
    expect(await claimed(now)).toBe(seconds + 1);
    await store.run('giveUpCrl', { authority, number: seconds + 1 });
    expect(await claimed(now - dayMs)).toBe(seconds + 2);
    await published(seconds + 2, now - dayMs);
    expect(await claimed(now - dayMs + 1, { madeSince: now })).toBe(seconds + 3);
  });

  it('are taken by one at a time, and by the next when the first has given up, has ended or is known to be gone', async () => {
    expect(await claimed(now)).toBe(seconds);
    expect(await claimed(now + 59_999)).toBeUndefined();
    // A number of another claim gives up nothing.
    await store.run('giveUpCrl', { authority, number: seconds - 1 });
    expect(await claimed(now + 59_999)).toBeUndefined();
    expect(await claimed(now + 59_999, { ignoreClaim: true })).toBe(seconds + 59);
    expect(await claimed(now + 119_999)).toBe(seconds + 119);
  });

  it('are published in their order alone', async () => {
    await claimed(now);
    expect(await published(seconds + 1, now)).toBe(true);
    expect(await published(seconds + 1, now)).toBe(false);
    expect(await published(seconds, now)).toBe(false);
    expect((await store.run('publishedCrl', authority))?.number).toBe(seconds);
    expect((await store.run('publishedCrl', authority))?.published_number).toBe(seconds + 1);
  });

  it('are not taken where nothing is due', async () => {
    await published((await claimed(now)) ?? 0, now);
    const later = now + 1000;
    expect(await claimed(later)).toBeUndefined();
    expect(await claimed(later, { endsBefore: now + dayMs - 1 })).toBeUndefined();
    expect(await claimed(later, { madeSince: now })).toBeUndefined();
    expect(await claimed(later, { madeSince: now + 1, minGapMs: 1001 })).toBeUndefined();
    expect(await claimed(later, { madeSince: now + 1, minGapMs: 1000 })).toBe(seconds + 1);
  });

  it.each([
    ['a CRL that ends', { endsBefore: now + dayMs }],
    ['one that is wanted of a later moment', { madeSince: now + 1 }],
    ['another key', { signer: 'b', signerSince: 6 }],
    ['another key of the same moment with a later name', { signer: 'b', signerSince: 5 }],
    ['an older key where the newer is gone', { signer: '0', signerSince: 4, ignoreNewer: true }],
  ])('are taken for %s', async (_name_, more) => {
    await published((await claimed(now)) ?? 0, now);
    expect(await claimed(now + 1000, more)).toBe(seconds + 1);
  });

  it.each([
    ['an older key', { signer: 'b', signerSince: 4 }],
    ['another key of the same moment with an earlier name', { signer: '0', signerSince: 5 }],
  ])('are not taken for %s', async (_name_, more) => {
    await published((await claimed(now)) ?? 0, now);
    expect(await claimed(now + 1000, { ...more, endsBefore: now + 2 * dayMs })).toBeUndefined();
  });
});
