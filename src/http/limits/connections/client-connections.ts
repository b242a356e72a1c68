import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Places, type AdmittedClient, type Place, type PlacesSettings } from './places.ts';

/**
 * The connections of a TLS listener: each has a place from its first moment, and keeps it once a
 * registered client has shown itself.
 */
export class ClientConnections {
  readonly #places: Places;
  /** Until its handshake is over, a connection is known by its two ends. */
  readonly #entered = new Map<string, Place>();
  readonly #placeOf = new WeakMap<Socket, Place>();

  constructor(settings: PlacesSettings) {
    this.#places = new Places(settings);
  }

  get unadmitted(): number {
    return this.#places.unadmitted;
  }

  /** Whether a new connection may stay; it is closed where not. */
  enter(socket: Socket): boolean {
    const place = this.#places.enter(socket);
    if (place === undefined) return false;
    const ends = endsOf(socket);
    this.#entered.set(ends, place);
    socket.once('close', () => {
      // Its ends may be those of a later one already.
      if (this.#entered.get(ends) === place) this.#entered.delete(ends);
    });
    return true;
  }

  /** Its handshake is over. */
  handshaken(socket: TLSSocket): void {
    const place = this.#entered.get(endsOf(socket));
    if (place !== undefined) this.#placeOf.set(socket, place);
  }

  /**
   * At the end of the handshake and at each request: registrations come and go. `client` is that of
   * the connection, if it is registered.
   */
  settle(socket: Socket, client: AdmittedClient | undefined): void {
    const place = this.#placeOf.get(socket);
    if (place === undefined) return;
    if (client === undefined) this.#places.withdraw(place);
    else this.#places.admit(place, client);
  }
}

function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
