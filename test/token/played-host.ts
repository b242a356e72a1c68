import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Greeting } from '../../src/token/host/greeting.ts';
import { FrameSplitter, type Frame } from '../../src/token/wire/frames.ts';
import type { ProbeReport } from '../../src/token/wire/probe-report.ts';

const probe: ProbeReport = {
  vendor: 'played',
  module: { description: '', manufacturer: '', version: '', cryptokiVersion: '' },
  token: {
    ...{ label: '', serial: '', manufacturer: '', model: '', hardwareVersion: '', firmwareVersion: '', flags: [] },
    pinLength: { min: 4, max: 255 },
    sessions: { open: null, max: null },
  },
  full: false,
  mechanisms: [],
  keyTypes: [],
  missing: [],
  limits: [],
};

/** The sockets of a token host, without a host: what it says is said by the test. */
export class PlayedHost {
  readonly directory = mkdtempSync(join(tmpdir(), 'signetd-played-host-'));
  readonly socketPath = join(this.directory, 'token.sock');
  /** Told each connection to the control socket. By default it is greeted. */
  greet: (socket: Socket) => void = (socket) => void socket.write(this.greeting());
  /** Told each frame that comes to a thread. */
  asked: (frame: Frame, thread: Socket, index: number) => void = () => undefined;
  readonly control: Socket[] = [];
  readonly #servers: Server[] = [];
  readonly #sockets: Socket[] = [];
  readonly #threads: number;

  constructor(threads: number) {
    this.#threads = threads;
  }

  async listen(): Promise<this> {
    await this.#listen(this.socketPath, (socket) => {
      this.control.push(socket);
      this.greet(socket);
    });
    for (const [index, path] of this.threadPaths.entries()) {
      await this.#listen(path, (socket) => {
        const splitter = new FrameSplitter();
        socket.on('data', (chunk) => {
          for (const frame of splitter.push(chunk)) this.asked(frame, socket, index);
        });
      });
    }
    return this;
  }

  get threadPaths(): string[] {
    return Array.from({ length: this.#threads }, (_, index) => `${this.socketPath}.${index}`);
  }

  /** The line that a host greets with. */
  greeting(changes: Readonly<Record<string, unknown>> = {}): string {
    const greeting: Greeting = { protocol: 10, threads: this.threadPaths, probe };
    return `${JSON.stringify({ ...greeting, ...changes })}\n`;
  }

  /** Ends every connection, and listens no more. */
  async end(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.splice(0).map(async (server) => new Promise((resolve) => server.close(resolve))));
  }

  async remove(): Promise<void> {
    await this.end();
    rmSync(this.directory, { recursive: true });
  }

  async #listen(path: string, connected: (socket: Socket) => void): Promise<void> {
    const server = createServer((socket) => {
      this.#sockets.push(socket);
      socket.on('error', () => socket.destroy());
      connected(socket);
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => {
      server.listen(path, resolve);
    });
  }
}
