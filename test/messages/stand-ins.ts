import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createPlainServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { EmailConfig } from '../../src/config/email-config.ts';
import { SmsConfig } from '../../src/config/sms-config.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { ScratchAuthority, type CertificateFiles } from '../support/scratch-authority.ts';

interface Closing {
  close(callback: () => void): unknown;
}

/** Gateways of a test: real servers on free ports, with certificates of an authority of their own. */
export class StandIns {
  readonly directory = mkdtempSync(join(tmpdir(), 'signetd-gateways-'));
  readonly authority = new ScratchAuthority(this.directory, 'gateways');
  readonly tls = this.authority.issue('localhost', { extendedKeyUsage: 'serverAuth', subjectAltName: 'DNS:localhost,IP:127.0.0.1' });
  readonly threads = new WorkThreads();
  readonly #open = new Map<number, Closing>();
  readonly #sockets = new Set<Socket>();

  /** A file that a secret reference points to. */
  secret(name: string, value: string): string {
    const file = join(this.directory, name);
    writeFileSync(file, `${value}\n`, { mode: 0o600 });
    return `file:${file}`;
  }

  /** An SMTP server with STARTTLS, the user `signetd` and the password `right`. Answers its configuration, and what it gets. */
  async smtp(options: SMTPServerOptions = {}, files: CertificateFiles = this.tls): Promise<{ config: EmailConfig; mail: ReceivedMail[] }> {
    const mail: ReceivedMail[] = [];
    const server = new SMTPServer({
      cert: readFileSync(files.certificate),
      key: readFileSync(files.key),
      authMethods: ['PLAIN', 'LOGIN'],
      disableReverseLookup: true,
      closeTimeout: 100,
      onAuth(given, _session, callback) {
        if (given.username === 'signetd' && given.password === 'right') callback(null, { user: 'signetd' });
        else callback(Object.assign(new Error('authentication failed'), { responseCode: 535 }));
      },
      onData(stream, session, callback) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.once('end', () => {
          const raw = Buffer.concat(chunks);
          void PostalMime.parse(raw).then((email) => {
            const { mailFrom, rcptTo } = session.envelope;
            mail.push({
              email,
              raw: raw.toString('latin1'),
              from: mailFrom === false ? '' : mailFrom.address,
              to: rcptTo.map(({ address }) => address),
              secure: session.secure,
              user: session.user,
              session: session.id,
            });
            callback(null, `OK: queued as Q${mail.length}`);
          });
        });
      },
      ...options,
    });
    server.on('error', () => undefined);
    const port = await this.#listen(server);
    return { config: this.emailConfig(port), mail };
  }

  /** Speaks whatever a test wants on a bare TCP port, line by line. */
  async tcp(speak: (socket: Socket) => void): Promise<number> {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      speak(socket);
    });
    server.on('connection', (socket) => this.#sockets.add(socket));
    return this.#listen(server);
  }

  /** An HTTPS gateway; with `plain`, an HTTP one. Answers its origin. */
  async http(
    listener: RequestListener,
    { plain = false, files = this.tls }: { plain?: boolean; files?: CertificateFiles } = {},
  ): Promise<string> {
    const server = plain
      ? createPlainServer(listener)
      : createTlsServer({ cert: readFileSync(files.certificate), key: readFileSync(files.key) }, listener);
    server.on('connection', (socket: Socket) => this.#sockets.add(socket));
    return `${plain ? 'http' : 'https'}://127.0.0.1:${await this.#listen(server)}`;
  }

  emailConfig(port: number, settings: Record<string, unknown> = {}): EmailConfig {
    return EmailConfig.parse({
      host: '127.0.0.1',
      port,
      user: 'signetd',
      password: this.secret('smtp-password', 'right'),
      from: 'signatures@example.org',
      certificateAuthority: this.authority.certificate,
      totalTimeoutSeconds: 10,
      ...settings,
    });
  }

  /** A gateway that takes JSON and answers `{"id", "status"}`. */
  smsConfig(origin: string, settings: Record<string, unknown> = {}): SmsConfig {
    return SmsConfig.parse({
      url: `${origin}/messages`,
      headers: { Authorization: 'Bearer {{secret.token}}' },
      secrets: { token: this.secret('sms-token', 'tok-4711/+ =') },
      body: { json: { to: '{{phoneNumber}}', text: '{{text}}', reference: '{{id}}' } },
      answer: { messageId: { jsonPointer: '/id' }, code: { jsonPointer: '/status' }, codes: ['queued'] },
      certificateAuthority: this.authority.certificate,
      ...settings,
    });
  }

  async remove(): Promise<void> {
    await this.threads.stop();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([...this.#open.keys()].map(async (port) => this.close(port)));
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Nobody listens at this port afterwards. */
  async close(port: number): Promise<void> {
    const server = this.#open.get(port);
    this.#open.delete(port);
    await new Promise<void>((resolve) => {
      if (server === undefined) resolve();
      else server.close(resolve);
    });
  }

  async #listen(server: Closing & { listen(port: number, host: string, callback: () => void): unknown } & Addressed): Promise<number> {
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = 'server' in server ? server.server.address() : server.address();
    const { port } = address as AddressInfo;
    this.#open.set(port, server);
    return port;
  }
}

type Addressed = { readonly server: { address(): unknown } } | { address(): unknown };

export interface ReceivedMail {
  readonly email: Email;
  readonly raw: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly secure: boolean;
  readonly user: unknown;
  /** Of the connection. */
  readonly session: string;
}

/** The body of a request, as text. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
