import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A syslog server that takes messages with their octet count (RFC 6587 §3.4.1). */
export class SyslogReceiver {
  readonly messages: string[] = [];
  readonly sockets = new Set<Socket>();
  readonly #server: Server;
  /** Connections so far. */
  connections = 0;

  /** @param take what it does with a connection; it reads the messages by default */
  constructor(server: Server = createServer(), take?: (socket: Socket) => void) {
    this.#server = server;
    server.on('setSecureContext' in server ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy()).on('close', () => this.sockets.delete(socket));
      if (take === undefined) this.#read(socket);
      else take(socket);
    });
  }

  #read(socket: Socket): void {
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (;;) {
        const [count, digits] = /^(\d+) /.exec(bytes.toString('latin1', 0, 12)) ?? [];
        if (count === undefined || bytes.length < count.length + Number(digits)) return;
        this.messages.push(bytes.toString('utf8', count.length, count.length + Number(digits)));
        bytes = bytes.subarray(count.length + Number(digits));
      }
    });
  }

  async listen(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  /** The lines of the log in the messages. */
  get lines(): string[] {
    return this.messages.map((message) => message.slice(message.indexOf('] {') + 2));
  }

  /** Breaks the connections: without the bytes that were not read. */
  reset(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
