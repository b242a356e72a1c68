/**
 * The public listener, on a separate service: delay until an OCSP response shows a revocation;
 * responses per second, fresh and cached, compared with a bare node:http server with the same
 * response; and the effect of a flood of OCSP requests on signatures over mTLS.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import * as der from '../src/asn1/der.ts';
import { ocspRequest } from '../test/certificates/ocsp/requests.ts';
import { KeepAliveClient } from './keep-alive-client.ts';
import { measureLoad, type Load } from './native-tools.ts';
import { plainLoad, rateOf, type PlainRequest as Request } from './plain-load.ts';
import { get, newCertificate, ocspUrl, postWithNonce } from './public-requests.ts';
import { startOwnService, stopOwnService } from './own-service.ts';
import { projectRoot, type Quickstart } from './quickstart-description.ts';
import { ServiceClient } from './service-client.ts';
import { signetdPids } from './signetd-processes.ts';

const length = { seconds: 3, warmup: 1 };
const connections = 32;
const goals = { revocationMs: 100, kept: 0.6, p99: 2 };
const signing = { connections: 16, seconds: 3, warmup: 1, rate: 150 };
const flood = { connections: 64, seconds: 4, warmup: 0 };

const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-ocsp-'));

async function ask(request: Uint8Array): Promise<Response> {
  const response = await fetch(ocspUrl(description, request));
  if (!response.ok) throw new Error(`the OCSP responder answers ${response.status}`);
  return response;
}

/**
 * Measures the time from the call of revokeCertificate, and from its answer, to the first response
 * that shows the revocation.
 */
async function revocation(client: KeepAliveClient): Promise<string> {
  const whole: number[] = [];
  const after: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const { id, certificate } = await newCertificate(description, client);
    const request = ocspRequest([id]);
    // Makes a cached response with status good.
    await ask(request);
    const begun = performance.now();
    await client.call('pki/revokeCertificate', { certificate, reason: 'KEY_COMPROMISE' });
    const answered = performance.now();
    const revoked = Buffer.concat([id, Buffer.of(0xa1)]);
    while (!Buffer.from(await (await ask(request)).arrayBuffer()).includes(revoked)) continue;
    whole.push(performance.now() - begun);
    after.push(performance.now() - answered);
  }
  const longest = (values: number[]): string => Math.max(...values).toFixed(1);
  return `revocation to OCSP response, 20 times: at most ${longest(after)} ms after revokeCertificate's answer (goal ${goals.revocationMs}), ${longest(whole)} ms after the call`;
}

/** Returns the responses per second of a bare server that sends the same bytes. */
async function bareRate(request: Request, answer: Response): Promise<number> {
  const [body, headers] = [join(directory, 'body'), join(directory, 'headers')];
  const dropped = new Set(['date', 'connection', 'keep-alive']);
  writeFileSync(headers, JSON.stringify([...answer.headers].filter(([name]) => !dropped.has(name)).flat()));
  writeFileSync(body, Buffer.from(await answer.arrayBuffer()));
  const script = join(projectRoot, 'bench', 'bare-plain-server.ts');
  const child = spawn(process.execPath, ['--disable-sigusr1', '--no-warnings', script, body, headers], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  try {
    for await (const port of createInterface({ input: child.stdout })) {
      return rateOf(await plainLoad(directory, new URL(`http://127.0.0.1:${port}`), request, { connections, ...length }));
    }
    throw new Error('the bare server did not start');
  } finally {
    child.stdin.end();
    await ended;
  }
}

async function answers(client: KeepAliveClient): Promise<string[]> {
  const { id } = await newCertificate(description, client);
  const url = ocspUrl(description, ocspRequest([id]));
  const kept: number[] = [];
  const bare: number[] = [];
  // In turns, and the best of each: other work on the machine slows some down.
  for (let round = 0; round < 3; round += 1) {
    kept.push(rateOf(await plainLoad(directory, url, get(url), { connections, ...length })));
    bare.push(await bareRate(get(url), await fetch(url)));
  }
  const fresh = await plainLoad(directory, url, postWithNonce(id), { connections, ...length });
  const [keptRate, bareRateReached] = [Math.max(...kept), Math.max(...bare)];
  return [
    `OCSP responses, cached: ${keptRate.toFixed(0)}/s; a bare node:http server with the same response: ${bareRateReached.toFixed(0)}/s; ratio ${(keptRate / bareRateReached).toFixed(2)} (goal ${goals.kept})`,
    `OCSP responses, fresh (with a nonce): ${rateOf(fresh).toFixed(0)}/s${fresh.unsigned > 0 ? `, and ${(fresh.unsigned / fresh.seconds).toFixed(0)}/s tryLater` : ''}`,
  ];
}

function best(loads: readonly Load[]): Load {
  const [first] = loads.toSorted((one, other) => one.p99Milliseconds - other.p99Milliseconds);
  if (first === undefined) throw new Error('nothing was measured');
  return first;
}

/**
 * Measures the p99 of signatures over mTLS, alone and during floods of the public listener with its
 * default limits.
 */
async function floods(client: KeepAliveClient): Promise<string[]> {
  const { id } = await newCertificate(description, client);
  const service = new ServiceClient(description, description.clients.other);
  const bodyFile = join(directory, 'sign.json');
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: randomBytes(768).toString('base64') } }];
  const body = { keyReference: await service.createKey(), parameters: { rawSignature: {} }, inputDocuments };
  writeFileSync(bodyFile, JSON.stringify(body), { mode: 0o600 });
  const { caCertificate } = description;
  const url = service.urlOf('signature/sign');
  const target = { url, client: service.client, caCertificate, bodyFile, expected: '"resultMajor":0', pids: signetdPids(directory) };
  const lines: string[] = [];
  const asked = ocspUrl(description, ocspRequest([id]));
  const malformed = ocspUrl(description, der.sequence());
  for (const [name, request] of [
    ['kept answers', get(asked)],
    ['nonces', postWithNonce(id)],
    ['malformed requests', get(malformed)],
  ] as const) {
    const rounds = [];
    // In turns, and the best of each: other work on the machine slows some down.
    for (let round = 0; round < 5; round += 1) {
      const quiet = await measureLoad(target, signing);
      const [loud, came] = await Promise.all([measureLoad(target, signing), plainLoad(directory, asked, request, flood)]);
      rounds.push({ quiet, loud, came });
    }
    const alone = best(rounds.map(({ quiet }) => quiet));
    const beside = best(rounds.map(({ loud }) => loud));
    const flooded = rounds[0]?.came ?? { signed: 0, unsigned: 0, otherStatus: 0, seconds: 1 };
    const { signed, unsigned, otherStatus, seconds } = flooded;
    const ratio = beside.p99Milliseconds / alone.p99Milliseconds;
    lines.push(
      `beside a flood of ${name} (${flood.connections} connections: ${(signed / seconds).toFixed(0)}/s signed, ${(unsigned / seconds).toFixed(0)}/s unsigned, ` +
        `${(otherStatus / seconds).toFixed(0)}/s refused): p50 ${beside.p50Milliseconds.toFixed(2)} ms, p99 ${beside.p99Milliseconds.toFixed(2)} ms; without it ${alone.p50Milliseconds.toFixed(2)} and ${alone.p99Milliseconds.toFixed(2)} ms; ratio of p99 ${ratio.toFixed(2)} (goal ${goals.p99})`,
    );
  }
  return lines;
}

const Listeners = z.looseObject({ public: z.looseObject({}) });

/**
 * Configures the service with limits for strangers that are out of reach, or with the default ones.
 */
function started(isFast: boolean): Quickstart {
  return startOwnService(directory, (configuration) => {
    const listeners = Listeners.parse(configuration['listeners']);
    const { requestsPerSecond: _requests, ocspSignaturesPerSecond: _signatures, ...rest } = listeners.public;
    const pace = isFast ? { requestsPerSecond: 1_000_000, ocspSignaturesPerSecond: 1_000_000 } : {};
    return { ...configuration, listeners: { ...listeners, public: { ...rest, ...pace } } };
  });
}

let description: Quickstart;
try {
  const [, , part] = process.argv;
  for (const isFast of part === 'floods' ? [false] : part === 'answers' ? [true] : [true, false]) {
    description = started(isFast);
    const client = new KeepAliveClient(description, description.clients.other, 4);
    if (isFast) for (const line of [await revocation(client), ...(await answers(client))]) console.log(line);
    else for (const line of await floods(client)) console.log(line);
    client.close();
  }
} finally {
  stopOwnService(directory);
  rmSync(directory, { recursive: true, force: true });
}
