import { addAbortListener, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { descriptorOf, native } from '../../service/native.ts';
import { boundedContext } from '../../service/bounded-context.ts';
import { readSecret } from '../../config/secret-reference.ts';
import type { SyslogConfig } from '../../config/syslog-config.ts';

const connectMs = 10_000;
/** A server that takes or acknowledges nothing for this long is left. */
export const stalledMs = 30_000;

/** A connection to a syslog server, which never answers. */
export class SyslogConnection {
  readonly #socket: Socket;
  /** Why the connection has ended; undefined while it is open. */
  #ended: string | undefined;

  private constructor(socket: Socket, stop: AbortSignal) {
    this.#socket = socket;
    const listener = addAbortListener(stop, () => socket.destroy());
    const end = (reason: string) => (): void => {
      this.#ended ??= reason;
      socket.destroy();
    };
    socket.on('error', (error) => {
      end(error.message)();
    });
    socket.on('end', end('the server closed the connection'));
    socket.on('close', () => {
      end('the connection is closed')();
      listener[Symbol.dispose]();
    });
    // It sends nothing that matters; without a reader, its end would not be noticed.
    socket.resume();
  }

  /**
   * Connects. Certificates and key are read anew, so that renewed ones are used. `stop` ends the
   * attempt, and later the connection.
   * @throws {Error} if the server cannot be reached or is not the configured one
   */
  static async open({ host, port, tls }: SyslogConfig, stop: AbortSignal): Promise<SyslogConnection> {
    const socket =
      tls === undefined
        ? connectPlain({ host, port })
        : connectTls({
            ...{ host, port },
            ...(isIP(host) === 0 ? { servername: host } : {}),
            secureContext: boundedContext({
              minVersion: 'TLSv1.2',
              ...(tls.certificateAuthority === undefined ? {} : { ca: readFileSync(tls.certificateAuthority) }),
              ...(tls.certificate === undefined ? {} : { cert: readFileSync(tls.certificate) }),
              ...(tls.key === undefined ? {} : { key: readSecret(tls.key) }),
            }),
          });
    try {
      await once(socket, tls === undefined ? 'connect' : 'secureConnect', {
        signal: AbortSignal.any([stop, AbortSignal.timeout(connectMs)]),
      });
    } catch (error) {
      socket.on('error', () => undefined).destroy();
      if (error instanceof Error && error.name === 'AbortError')
        throw new Error(`no connection within ${connectMs / 1000} s`, { cause: error });
      throw error;
    }
    socket.setKeepAlive(true, stalledMs);
    return new SyslogConnection(socket, stop);
  }

  get ended(): string | undefined {
    return this.#ended;
  }

  /**
   * Bytes of this connection that the server's machine has acknowledged, and those that the kernel
   * was given in all: `sent` is reached when everything before has arrived. Encryption and the
   * connection itself are part of both.
   */
  get progress(): { readonly acknowledged: number; readonly sent: number } {
    const fd = descriptorOf(this.#socket);
    if (fd === undefined) return { acknowledged: 0, sent: Infinity };
    const [acknowledged, held] = native().sentBytes(fd);
    return { acknowledged, sent: acknowledged + held };
  }

  /** Returns once the bytes are handed to the kernel. @throws {Error} if the connection ends */
  async send(bytes: Buffer): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#ended ??= `the server took nothing for ${stalledMs / 1000} s`;
        this.#socket.destroy();
      }, stalledMs);
      this.#socket.write(bytes, (error) => {
        clearTimeout(timer);
        if (error === null || error === undefined) resolve();
        else reject(new Error(this.#ended ?? error.message));
      });
    });
  }

  close(): void {
    this.#socket.end();
    this.#socket.destroySoon();
  }
}
