import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { SyslogReceiver } from './syslog-receiver.ts';

/** How long the server is away. */
const awayMs = 180_000;
const lagMaxSeconds = 15;
const deadline = { timeout: 60_000 };

let service: OwnService;
let port: number;
let receiver: SyslogReceiver;
const received: string[] = [];

beforeAll(async () => {
  receiver = new SyslogReceiver();
  port = await receiver.listen();
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    const text = readFileSync(configFile, 'utf8');
    const syslog = `  syslog: { host: 127.0.0.1, port: ${port}, required: true, lagMaxSeconds: ${lagMaxSeconds} }`;
    writeFileSync(configFile, text.replace(/^audit:\n/m, `audit:\n${syslog}\n`));
  });
});
afterAll(async () => {
  await receiver.close();
  await service.remove();
});

/** Answers `done`, or the status of the problem. */
async function request(): Promise<string> {
  const answer = JSON.parse(await service.post('pki/createCertificate', newCertificate())) as { status?: number };
  return answer.status === undefined ? 'done' : String(answer.status);
}

const written = (): string[] => {
  const directory = join(service.environment.directory, 'audit');
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1));
};

it('a required syslog server that is away for three minutes, twice, refuses requests after the lag, and no record is missing', async () => {
  for (let outage = 0; outage < 2; outage += 1) {
    expect(await request()).toBe('done');
    received.push(...receiver.lines);
    await receiver.close();
    const beganMs = performance.now();
    const answers: { readonly answer: string; readonly atMs: number }[] = [];
    while (performance.now() - beganMs < awayMs) {
      answers.push({ answer: await request(), atMs: performance.now() - beganMs });
      await delay(1000);
    }
    const first = answers.findIndex(({ answer }) => answer === '503');
    expect(answers[first]?.atMs).toBeLessThan(lagMaxSeconds * 1000 + 10_000);
    // It does not change its mind while nothing changes.
    expect(new Set(answers.slice(first).map(({ answer }) => answer))).toEqual(new Set(['503']));
    expect((await fetch(`${service.opsUrl}/health/ready`)).status).toBe(503);
    receiver = new SyslogReceiver();
    await receiver.listen(port);
    await expect.poll(request, deadline).toBe('done');
    expect((await fetch(`${service.opsUrl}/health/ready`)).status).toBe(200);
  }
  // Of the first start, before it was connected, and what is written while this looks.
  const begins = Number(/"n":(\d+)/.exec(received[0] ?? '')?.[1]);
  const lines = written().filter((line) => Number(/"n":(\d+)/.exec(line)?.[1]) >= begins);
  await expect
    .poll(() => {
      const known = new Set([...received, ...receiver.lines]);
      return lines.filter((line) => !known.has(line));
    }, deadline)
    .toEqual([]);
  expect(lines.filter((line) => line.includes('"kind":"outage"'))).toHaveLength(2);
}, 900_000);
