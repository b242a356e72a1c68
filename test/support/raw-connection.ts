import { readFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';

export interface Peer {
  readonly baseUrl: string;
  readonly caCertificate: string;
  readonly certificate: string;
  readonly key: string;
}

/** A connection on which a test writes whatever bytes it likes. */
export class RawConnection {
  readonly #socket: TLSSocket;
  readonly #closed: Promise<unknown>;
  received = '';

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => {
      socket.once('close', resolve);
    });
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
  }

  static async open({ baseUrl, caCertificate, certificate, key }: Peer): Promise<RawConnection> {
    const { hostname, port } = new URL(baseUrl);
    const socket = connect({
      host: hostname,
      port: Number(port),
      ca: readFileSync(caCertificate),
      cert: readFileSync(certificate),
      key: readFileSync(key),
    });
    const connection = new RawConnection(socket);
    await once(socket, 'secureConnect');
    return connection;
  }

  write(bytes: string | Buffer): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  /** Until the service has closed the connection. */
  async closed(): Promise<void> {
    await this.#closed;
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Until the text is among what was received, or the connection is closed. */
  async until(text: string | RegExp): Promise<void> {
    const found = (): boolean => (typeof text === 'string' ? this.received.includes(text) : text.test(this.received));
    while (!found() && !this.#socket.destroyed) await Promise.race([once(this.#socket, 'data'), this.#closed]);
  }

  /** Sends a request and waits for the status of its answer; undefined where the connection is closed instead. */
  async ask(bytes: string | Buffer): Promise<number | undefined> {
    const before = this.statuses.length;
    this.write(bytes);
    while (this.statuses.length === before && !this.#socket.destroyed) await Promise.race([once(this.#socket, 'data'), this.#closed]);
    return this.statuses[before];
  }

  /** Statuses of the answers so far, interim ones included. */
  get statuses(): readonly number[] {
    return Array.from(this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g), (match) => Number(match[1]));
  }
}
