import { expect, it } from 'vitest';
import { sharedHealth } from '../../src/console/shared-health.ts';

it('pages share one look at readiness, until the token comes or goes', async () => {
  let looked = 0;
  let sign = 'there';
  const health = {
    ready: async (): Promise<Record<string, string>> => {
      looked += 1;
      return Promise.resolve(sign === 'there' ? {} : { token: 'it does not sign' });
    },
    warnings: () => ({ certificate: `warning ${looked}` }),
  };
  const shared = sharedHealth(health, () => sign);
  expect([await shared.ready(), await shared.ready(), looked]).toEqual([{}, {}, 1]);
  sign = 'gone';
  expect([await shared.ready(), looked]).toEqual([{ token: 'it does not sign' }, 2]);
  expect(shared.warnings()).toEqual({ certificate: 'warning 2' });
});
