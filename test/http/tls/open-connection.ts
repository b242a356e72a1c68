import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import type { CertificateFiles } from '../../support/scratch-authority.ts';
import { serverAuthority } from './scratch-listener.ts';

const get = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** One connection that is kept, on which requests are sent one after the other. */
export class OpenConnection {
  readonly #socket: TLSSocket;
  readonly #ended: Promise<void>;
  #received = '';
  #closed = false;
  #wake: () => void = () => undefined;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.#received += text;
      this.#wake();
    });
    socket.on('error', () => undefined);
    this.#ended = new Promise((resolve) => {
      socket.on('close', () => {
        this.#closed = true;
        this.#wake();
        resolve();
      });
    });
  }

  static async open(
    port: number,
    files: CertificateFiles,
    { chain = '', ca = serverAuthority.certificate }: { chain?: string; ca?: string } = {},
  ): Promise<OpenConnection> {
    const socket = connect({
      host: '127.0.0.1',
      port,
      ca: readFileSync(ca),
      cert: readFileSync(files.certificate, 'latin1') + chain,
      key: readFileSync(files.key),
    });
    const connection = new OpenConnection(socket);
    await once(socket, 'secureConnect');
    return connection;
  }

  /** Fingerprint of the certificate that the server showed on this connection. */
  get serverFingerprint(): string {
    return this.#socket.getPeerCertificate().fingerprint256;
  }

  /** Sends bytes and answers what came until the answer is whole or the connection closed; '' where it closed without an answer. */
  async send(bytes = get): Promise<string> {
    this.#received = '';
    if (this.#closed) return '';
    this.#socket.write(bytes);
    while (!this.#closed && !/\r\n\r\n[^]*served$|application\/problem/.test(this.#received)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#received;
  }

  /** Waits for the end of the connection. */
  async closed(): Promise<void> {
    await this.#ended;
  }

  close(): void {
    this.#socket.destroy();
  }
}
