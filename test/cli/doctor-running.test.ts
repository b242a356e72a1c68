import { beforeAll, expect, it } from 'vitest';
import { StatusView } from '../../src/admin/views.ts';
import type { Diagnosis } from '../../src/cli/doctor/diagnosis.ts';
import { runningService } from '../../src/cli/doctor/running-service.ts';
import { description } from '../support/api.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf } from '../support/signetctl.ts';

let status: StatusView;

beforeAll(async () => {
  status = StatusView.parse(jsonOf(await signetctlHere(['--config', description.configFile, '--json', 'status'])));
});

const diagnosed = (warnings: Readonly<Record<string, string>>): Diagnosis[] => runningService({ ...status, warnings }, [], false);

it('doctor reports a syslog server that is required and takes no records as a fault, and not as a warning too', () => {
  const reason = 'requests are refused, since audit records cannot be handed over to the syslog server: ECONNREFUSED';
  const about = runningService(
    { ...status, faults: { auditSyslog: reason }, warnings: { auditSyslog: '3 audit records wait' } },
    [],
    false,
  );
  expect(about.filter(({ part }) => part === 'syslog')).toEqual([
    { part: 'syslog', state: 'fault', text: `${reason}: check the server and audit.syslog; signetd then continues by itself` },
  ]);
});

it.each(['it does not sign', 'the token host has ended: the PIN is refused'])(
  'doctor says where there is more about a token: %s',
  (reason) => {
    const about = runningService({ ...status, faults: { token: reason } }, [], false).filter(({ part }) => part === 'signing');
    expect(about).toEqual([
      { part: 'signing', state: 'fault', text: `${reason}; the log of signetd and systemctl status signetd-token say more` },
    ]);
  },
);

it.each([
  ['timeStampAuthority', 'the clock is not synchronised', 'time-stamps', 'warning'],
  ['auditSyslog', '3 audit records wait for the syslog server: ECONNREFUSED', 'syslog', 'warning'],
  ['transferStore', 'no connection to the object store (ECONNREFUSED)', 'transfer store', 'warning'],
  ['client certificate app (public key ab)', 'client certificate app expires on 2026-01-02: renew it', 'reminders', 'warning'],
  ['CRL of issuing', 'CRL of issuing expired on 2026-01-02: the log says why', 'reminders', 'fault'],
])('doctor shows once that the running service warns of %s', (name, text, part, state) => {
  const about = diagnosed({ [name]: text }).filter((one) => one.text.includes(text));
  expect(about).toEqual([{ part, state, text: expect.stringContaining(text) as string }]);
  expect(diagnosed({}).filter((one) => one.part === part)).toEqual([]);
});

it('doctor says that a restart is due where another version is installed than the one that runs', () => {
  const about = runningService({ ...status, version: '0.0.1' }, [], false).filter(({ part }) => part === 'service');
  expect(about).toEqual([
    {
      part: 'service',
      state: 'warning',
      text: `process ${status.pid} runs version 0.0.1, and ${status.version} is installed: restart signetd-token and signetd`,
    },
  ]);
});
