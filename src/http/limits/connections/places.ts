import type { Socket } from 'node:net';
import { ByAddress } from './by-address.ts';
import { addressOf, sourceOf } from './source-address.ts';

/** The group of connections that is full where one is closed for want of room. */
export type Crowd = 'all' | 'unadmitted' | 'address' | 'tenant' | 'client';

/** A registered client: the SHA-256 of its public key, and its tenant. */
export interface AdmittedClient {
  readonly spkiSha256: string;
  readonly tenant: string;
}

export interface PlacesSettings {
  readonly connectionsMax: number;
  /**
   * Connections that are not admitted: so many from addresses that are known, and so many from all
   * others.
   */
  readonly unadmittedMax: number;
  /** Of those from one address that is not known. */
  readonly unadmittedMaxPerAddress: number;
  /** Returns the limits on admitted connections of a client, and of its tenant. */
  admittedMax(client: AdmittedClient): { readonly client: number; readonly tenant: number };
  /** Whether many clients share the address: it counts as known. */
  isShared(remoteAddress: string): boolean;
  /** Told of each connection that is closed for want of room. */
  closed(crowd: Crowd, remoteAddress: string | undefined): void;
}

/** The place of a connection, until it ends. */
export interface Place {
  readonly socket: Socket;
  readonly source: string;
  /** The connections that it waits among for its admission; undefined before and after. */
  among: ByAddress<Place> | undefined;
  /** While it is admitted. */
  client: AdmittedClient | undefined;
}

/** Long enough for a client that works every night to stay known. */
const knownMs = 26 * 60 * 60 * 1000;
const knownMax = 10_000;

/**
 * The places of a listener's connections. Until a connection is admitted, it may lose its place to
 * a later one: the first of its address does where that has its share, else the first of the
 * address with the most. So a flood displaces itself. Connections from addresses from which a
 * client was admitted lately have places of their own, beside those of all others; a connection
 * that is admitted keeps its place. A tenant and a client have their shares of admitted connections,
 * and a further one is closed.
 */
export class Places {
  readonly #settings: PlacesSettings;
  readonly #nowMs: () => number;
  readonly #fromKnown = new ByAddress<Place>();
  readonly #fromOthers = new ByAddress<Place>();
  /** When a client was last admitted from an address, the latest at the end. */
  readonly #known = new Map<string, number>();
  #admitted = 0;
  readonly #admittedOfTenant = new Map<string, number>();
  readonly #admittedOfClient = new Map<string, number>();

  constructor(settings: PlacesSettings, nowMs: () => number = () => performance.now()) {
    this.#settings = settings;
    this.#nowMs = nowMs;
  }

  get unadmitted(): number {
    return this.#fromKnown.size + this.#fromOthers.size;
  }

  /**
   * Gives a new connection a place, if need be that of another. Returns undefined if there is none:
   * the connection is closed then.
   */
  enter(socket: Socket): Place | undefined {
    const { remoteAddress = '' } = socket;
    const source = sourceOf(remoteAddress);
    const among = this.#settings.isShared(remoteAddress) || this.#isKnown(source) ? this.#fromKnown : this.#fromOthers;
    if (!this.#makeRoom(among, source)) {
      this.#turnAway(socket, 'all');
      return undefined;
    }
    const place: Place = { socket, source, among, client: undefined };
    among.add(source, place);
    socket.once('close', () => {
      this.#leave(place);
    });
    return place;
  }

  /** The connection shows life: others of its address go before it. */
  touch(place: Place): void {
    place.among?.remove(place.source, place);
    place.among?.add(place.source, place);
  }

  /** A registered client has shown itself on the connection. */
  admit(place: Place, client: AdmittedClient): void {
    if (place.among !== undefined) {
      this.#leave(place);
      const { client: ofClient, tenant: ofTenant } = this.#settings.admittedMax(client);
      if ((this.#admittedOfTenant.get(client.tenant) ?? 0) >= ofTenant) {
        this.#turnAway(place.socket, 'tenant');
        return;
      }
      if ((this.#admittedOfClient.get(client.spkiSha256) ?? 0) >= ofClient) {
        this.#turnAway(place.socket, 'client');
        return;
      }
      place.client = client;
      this.#count(client, 1);
    }
    if (place.client !== undefined) this.#remember(place.source);
  }

  /** The client of the connection is no longer registered. */
  withdraw(place: Place): void {
    if (place.client === undefined) return;
    this.#leave(place);
    place.among = this.#fromKnown;
    place.among.add(place.source, place);
  }

  #leave(place: Place): void {
    place.among?.remove(place.source, place);
    place.among = undefined;
    if (place.client === undefined) return;
    this.#count(place.client, -1);
    place.client = undefined;
  }

  #count({ spkiSha256, tenant }: AdmittedClient, more: 1 | -1): void {
    this.#admitted += more;
    addTo(this.#admittedOfTenant, tenant, more);
    addTo(this.#admittedOfClient, spkiSha256, more);
  }

  #makeRoom(among: ByAddress<Place>, source: string): boolean {
    const { connectionsMax, unadmittedMax, unadmittedMaxPerAddress } = this.#settings;
    if (among === this.#fromOthers && among.countOf(source) >= unadmittedMaxPerAddress)
      return this.#displace(among.firstOf(source), 'address');
    if (among.size >= unadmittedMax) return this.#displace(among.first(), 'unadmitted');
    if (this.#admitted + this.unadmitted < connectionsMax) return true;
    const larger = this.#fromKnown.size > this.#fromOthers.size ? this.#fromKnown : this.#fromOthers;
    return this.#displace(larger.first(), 'all');
  }

  #displace(place: Place | undefined, crowd: Crowd): boolean {
    if (place === undefined) return false;
    this.#leave(place);
    this.#turnAway(place.socket, crowd);
    return true;
  }

  #turnAway(socket: Socket, crowd: Crowd): void {
    this.#settings.closed(crowd, addressOf(socket));
    // A client that was told nothing yet loses nothing by a reset, which leaves nothing of the
    // connection in the kernel.
    if (socket.bytesWritten === 0) socket.resetAndDestroy();
    else socket.destroy();
  }

  #isKnown(source: string): boolean {
    const atMs = this.#known.get(source);
    return atMs !== undefined && this.#nowMs() - atMs < knownMs;
  }

  #remember(source: string): void {
    this.#known.delete(source);
    this.#known.set(source, this.#nowMs());
    if (this.#known.size <= knownMax) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

function addTo(counts: Map<string, number>, name: string, more: number): void {
  const count = (counts.get(name) ?? 0) + more;
  if (count <= 0) counts.delete(name);
  else counts.set(name, count);
}
