import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { signetctl } from '../support/signetctl.ts';
import { SyslogReceiver } from './syslog-receiver.ts';

let service: OwnService;
let port: number;
let first: SyslogReceiver;

beforeAll(async () => {
  first = new SyslogReceiver();
  port = await first.listen();
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    const text = readFileSync(configFile, 'utf8');
    writeFileSync(configFile, text.replace(/^audit:\n/m, `audit:\n  syslog: { host: 127.0.0.1, port: ${port}, required: true }\n`));
  });
});
afterAll(async () => {
  await service.remove();
});

const ready = async (): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`${service.opsUrl}/health/ready`);
  return { status: response.status, body: await response.json() };
};

describe('a service that must hand its audit records over to a syslog server', () => {
  it('refuses requests while the server is away, says so everywhere, and goes on by itself', async () => {
    expect(JSON.parse(await service.post('pki/createCertificate', newCertificate()))).toMatchObject({ result: { majorCode: 0 } });
    await service.daemon.stop();
    await first.close();
    expect(await service.daemon.startAndAsk()).toMatchObject({ status: 503 });
    const problem = await service.post('pki/createCertificate', newCertificate());
    expect(JSON.parse(problem)).toEqual({
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      detail: 'audit records cannot be handed over to the syslog server',
      resultMajor: 2,
      resultMinor: 243,
    });
    expect(await ready()).toEqual({
      status: 503,
      body: expect.objectContaining({
        faults: { auditSyslog: expect.stringMatching(/^requests are refused, since .* syslog server: .*ECONNREFUSED/) as unknown },
      }) as unknown,
    });
    const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text();
    expect(metrics).toContain('\nsignetd_audit_syslog_refusing 1\n');
    const ctl = async (...args: string[]): ReturnType<typeof signetctl> => signetctl(['--config', service.description.configFile, ...args]);
    const doctor = await ctl('doctor');
    expect([doctor.status, doctor.stdout]).toEqual([1, expect.stringMatching(/syslog.*requests are refused/)]);
    expect(doctor.stdout).not.toContain('no client is registered');
    const nothingDone = 'signetctl: nothing was done: audit records cannot be handed over to the syslog server; see signetctl status\n';
    for (const command of [['key', 'list'], ['reload']]) expect(await ctl(...command)).toMatchObject({ status: 5, stderr: nothingDone });

    const receiver = new SyslogReceiver();
    try {
      await receiver.listen(port);
      await expect.poll(async () => (await ready()).status).toBe(200);
      expect(JSON.parse(await service.post('pki/createCertificate', newCertificate()))).toMatchObject({ result: { majorCode: 0 } });
      await expect
        .poll(() => receiver.lines.join('\n'))
        .toMatch(/"kind":"outage".*not handed over to the syslog server: .*"refused":[2-9]/);
      expect(receiver.lines.join('\n')).toContain('"operation":"pki/createCertificate"');
      expect((await ctl('key', 'list')).status).toBe(0);
    } finally {
      await receiver.close();
    }
  });
});
