import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { z } from 'zod';
import { loopback } from './ports.ts';
import { putIntoOutbox } from './outbox.ts';

export interface SmsGatewayOptions {
  readonly port: number;
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  /** Bearer token of the callers. */
  readonly token: string;
  /** Directory for received messages. */
  readonly directory: string;
}

const maxBodyBytes = 64 * 1024;
const Sms = z.strictObject({ to: z.string().regex(/^\+[1-9]\d{6,14}$/), text: z.string().min(1).max(6400), reference: z.string() });

/**
 * Starts an HTTPS gateway for SMS that writes messages to the outbox: `POST /messages` with a
 * bearer token.
 */
export async function startSmsGateway({ port, certificate, key, token, directory }: SmsGatewayOptions): Promise<void> {
  const server = createServer({ cert: certificate, key }, (request, response) => {
    answer(request, token, directory).then(
      ({ status, body }) => {
        send(response, status, body);
      },
      () => {
        send(response, 500, { status: 'failed', detail: 'the outbox cannot be written' });
      },
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, loopback, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
}

async function answer(request: IncomingMessage, token: string, directory: string): Promise<Answer> {
  if (request.url !== '/messages') return { status: 404, body: { status: 'refused', detail: 'messages must be sent to /messages' } };
  if (request.method !== 'POST') return { status: 405, body: { status: 'refused', detail: 'messages must be sent with POST' } };
  if (!isBearer(request.headers.authorization ?? '', token)) return { status: 401, body: { status: 'refused', detail: 'wrong token' } };
  const sms = Sms.safeParse(await readJson(request));
  if (!sms.success) return { status: 400, body: { status: 'refused', detail: 'a message must have to, text and reference' } };
  const { to, text } = sms.data;
  const name = putIntoOutbox(directory, { channel: 'sms', to, text });
  return { status: 202, body: { status: 'queued', id: name.replace(/\.json$/, '') } };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    // Node's HTTP parser hands over bytes where no encoding is set.
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > maxBodyBytes) return undefined;
    chunks.push(bytes);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}

function isBearer(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(`Bearer ${token}`)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function send(response: ServerResponse, status: number, body: Readonly<Record<string, string>>): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
