import { describe, expect, it } from 'vitest';
import { answersOf, checkLacks } from '../../../src/cli/setup/answers.ts';
import { planOf } from '../../../src/cli/setup/plan.ts';
import { hasModule, hsmProfiles, questions } from '../../../src/cli/setup/questions.ts';
import { signetctlHere } from '../../support/signetctl-here.ts';

const softhsm = { token: 'softhsm', organization: 'Example SA', country: 'FR' };
const hsm = { ...softhsm, token: 'hsm', profile: 'luna' };

describe('the answers of an unattended setup', () => {
  it('are complete with the kind of token, the organisation and its country', async () => {
    const answers = await answersOf(softhsm, undefined, false);
    expect(Object.keys(answers)).toEqual(questions.map(({ id }) => id));
    expect(answers).toMatchObject({ label: 'signetd', authority: 'own', server: 'own', clients: 'own', tenant: 'main', profile: '' });
  });

  it('are refused all together, each with its option', async () => {
    const wrong = { ...hsm, country: 'France', hsmDevice: '/etc/passwd', roles: 'king', host: 'a b', tenant: 'Main', publicUrl: 'ftp://x' };
    const refused = await answersOf(wrong, undefined, false).catch((error: unknown) => String(error));
    for (const option of ['--country', '--hsm-device', '--roles', '--host', '--tenant', '--public-url']) expect(refused).toContain(option);
    await expect(answersOf({}, undefined, false)).rejects.toThrow(
      /--token is missing.*\n.*--organization is missing.*\n.*--country is missing/,
    );
  });

  it('may not be about an HSM where there is none', async () => {
    await expect(answersOf({ ...softhsm, hsmAddress: '192.0.2.5' }, undefined, false)).rejects.toThrow('--hsm-address does not apply');
  });

  it('name a database only if the state is in PostgreSQL, on this machine', async () => {
    expect(await answersOf(softhsm, undefined, false)).toMatchObject({ state: 'sqlite', stateHost: '', stateDatabase: '', stateUser: '' });
    const answers = await answersOf({ ...softhsm, state: 'postgresql' }, undefined, false);
    expect(answers).toMatchObject({ stateHost: '/run/postgresql', stateDatabase: 'signetd', stateUser: 'signetd' });
    expect(planOf(answers).join('\n')).toContain('empty database "signetd" of the PostgreSQL server at /run/postgresql');
    await expect(answersOf({ ...softhsm, stateHost: '/run' }, undefined, false)).rejects.toThrow('--state-host does not apply');
    const remote = answersOf({ ...softhsm, state: 'postgresql', stateHost: 'db.example.net' }, undefined, false);
    await expect(remote).rejects.toThrow('--state-host takes an absolute path; for a server on another machine');
  });

  it('are those of the earlier run, which options must not contradict', async () => {
    const known = await answersOf(softhsm, undefined, false);
    expect(await answersOf({ organization: 'Example SA' }, known, false)).toEqual(known);
    await expect(answersOf({ organization: 'Other' }, known, false)).rejects.toThrow('setup began with "Example SA"');
  });
});

it('notices that the module of a token is not installed, before anything is changed', async () => {
  const answers = await answersOf(hsm, undefined, false);
  expect(hasModule('luna')).toBe(false);
  expect(() => {
    checkLacks(answers);
  }).not.toThrow();
  if (hasModule('softhsm2')) return;
  expect(() => {
    checkLacks({ ...answers, token: 'softhsm' });
  }).toThrow('apt install softhsm2');
});

it('knows each profile of native-config/ but that of SoftHSM', () => {
  expect(hsmProfiles()).toEqual(expect.arrayContaining(['luna', 'nethsm', 'nshield', 'utimaco', 'yubihsm2']));
  expect(hsmProfiles()).not.toContain('softhsm2');
});

it('the plan says that an HSM is not initialised, and what the module gets', async () => {
  const plan = planOf(await answersOf({ ...hsm, hsmAddress: '192.0.2.5', server: 'request', clients: 'outside' }, undefined, false));
  expect(plan[0]).toMatch(/profile luna; it is not initialised$/);
  expect(plan.join('\n')).toMatch(/what the module needs/);
  expect(plan.join('\n')).toMatch(/a request for .*/);
});

it('setup asks for a terminal or for --unattended, and changes nothing without them', async () => {
  const refused = await signetctlHere(['setup']);
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--unattended')]);
});
