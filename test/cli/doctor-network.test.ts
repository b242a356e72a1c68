import { expect, it } from 'vitest';
import { network } from '../../src/cli/doctor/network.ts';
import { loadConfig } from '../../src/config/config.ts';
import { description } from '../support/api.ts';

const config = loadConfig(description.configFile);
const isolated = async (): Promise<boolean> => Promise.resolve(true);

it('doctor tells which members need a network that the unit of the daemon does not have', async () => {
  const [found, ...others] = await network('/etc/signetd/signetd.yaml', config, isolated);
  expect(others).toEqual([]);
  expect(found?.state).toBe('fault');
  expect(found?.text).toMatch(/^signetd\.service has no network .* messages\.sms, messages\.email.* need one: copy .*network\.conf/);
});

it('doctor tells nothing of the network where the unit has one, or there is no unit', async () => {
  expect(await network('/etc/signetd/signetd.yaml', config, async () => Promise.resolve(false))).toEqual([]);
  expect(await network('/etc/signetd/signetd.yaml', config, async () => Promise.resolve(undefined))).toEqual([]);
});

it('doctor tells nothing of the network if the configuration names no other server', async () => {
  const alone = {
    ...config,
    messages: undefined,
    timeStamps: { ...config.timeStamps, urls: [] },
    revocation: { ...config.revocation, crlUrls: [], ocspUrls: [] },
    outgoing: { ...config.outgoing, clientHosts: [] },
    identityProviders: {},
  };
  expect(await network('/etc/signetd/signetd.yaml', alone, isolated)).toEqual([]);
});
