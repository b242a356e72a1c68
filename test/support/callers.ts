import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

/**
 * Callers at work, as a process of its own so that it can live in another network: JSON of a `Task` as its argument. Half of the callers keep
 * their connections, half make a new one for each request; nobody tries anything again. Says "busy" when each has had an answer, and at the end
 * of its standard input what became of all requests, as JSON.
 */
const Task = z.object({
  url: z.string(),
  ca: z.string(),
  certificate: z.string(),
  key: z.string(),
  callers: z.number(),
  pauseMs: z.number(),
});
const task = Task.parse(JSON.parse(process.argv[2] ?? ''));
const identity = { ca: readFileSync(task.ca), cert: readFileSync(task.certificate), key: readFileSync(task.key) };
const Answer = z.object({ result: z.union([z.object({ majorCode: z.literal(0) }), z.object({ resultMajor: z.literal(0) })]) });
const Created = z.object({ keyReference: z.object({ reference: z.string(), password: z.string() }) });

const failures: string[] = [];
const waitsMs: number[] = [];
const end = { asked: false };

async function post(agent: Agent, operation: string, body: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(`${task.url}/${operation}`, { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } });
    sent.on('response', (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 200) resolve(answer);
        else reject(new Error(`status ${response.statusCode}: ${answer}`));
      }, reject);
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      reject(new Error(`${error.code ?? ''} ${error.message}${sent.reusedSocket ? ' on a kept connection' : ''}`));
    });
    sent.end(JSON.stringify(body));
  });
}

async function caller(index: number, body: object, answered: () => void): Promise<void> {
  const agent = new Agent({ ...identity, keepAlive: index % 2 === 0, maxSockets: 1, maxCachedSessions: 0 });
  while (!end.asked) {
    const begun = performance.now();
    try {
      Answer.parse(JSON.parse(await post(agent, 'signature/sign', body)));
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
    waitsMs.push(performance.now() - begun);
    answered();
    await new Promise((resolve) => {
      setTimeout(resolve, Math.random() * 2 * task.pauseMs);
    });
  }
  agent.destroy();
}

const first = new Agent(identity);
const { keyReference } = Created.parse(
  JSON.parse(
    await post(first, 'pki/createCertificate', {
      certificationRequestInfo: {
        signatureActivationProtocol: 'PASSWORD',
        PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Caller' } },
      },
      certificateFormat: 'CERTIFICATE',
    }),
  ),
);
const digest = { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update('x').digest('base64') };
const body = { keyReference, parameters: { rawSignature: { rawSignatureParameters: {} } }, inputDocuments: [{ ID: 'd', digest }] };
process.stdin.on('end', () => {
  end.asked = true;
});
process.stdin.resume();
const waiting = new Set(Array.from({ length: task.callers }, (_, index) => index));
await Promise.all(
  [...waiting].map(async (index) =>
    caller(index, body, () => {
      if (waiting.delete(index) && waiting.size === 0) process.stdout.write('busy\n');
    }),
  ),
);
waitsMs.sort((one, other) => one - other);
const summary = { requests: waitsMs.length, failures, longestMs: Math.round(waitsMs.at(-1) ?? 0) };
process.stdout.write(`${JSON.stringify(summary)}\n`);
