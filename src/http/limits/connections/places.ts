import type { Socket } from 'node:net';
import { ByAddress } from './by-address.ts';
import { sourceOf } from './source-address.ts';

/** The group of connections that is full where one is closed for want of room. */
export type Crowd = 'all' | 'unadmitted' | 'address' | 'tenant';

export interface PlacesSettings {
  readonly connectionsMax: number;
  /**
   * Connections that are not admitted: so many from addresses that are known, and so many from all
   * others.
   */
  readonly unadmittedMax: number;
  /** Of those from one address that is not known. */
  readonly unadmittedMaxPerAddress: number;
  /** Admitted connections of one tenant. */
  readonly admittedMaxPerTenant: number;
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
  /** That of its client, while it is admitted. */
  tenant: string | undefined;
}

/** Long enough for a client that works every night to stay known. */
const knownMs = 26 * 60 * 60 * 1000;
const knownMax = 10_000;

/**
 * The places of a listener's connections. Until a connection is admitted, it may lose its place to
 * a later one: the first of its address does where that has its share, else the first of the
 * address with the most. So a flood displaces itself. Connections from addresses from which a
 * client was admitted lately have places of their own, beside those of all others; a connection
 * that is admitted keeps its place. A tenant has its share of admitted connections, and a further
 * one is closed.
 */
export class Places {
  readonly #settings: PlacesSettings;
  readonly #nowMs: () => number;
  readonly #fromKnown = new ByAddress<Place>();
  readonly #fromOthers = new ByAddress<Place>();
  /** When a client was last admitted from an address, the latest at the end. */
  readonly #known = new Map<string, number>();
  #admitted = 0;
  readonly #admittedOf = new Map<string, number>();

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
    const place: Place = { socket, source, among, tenant: undefined };
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

  /** A client of the tenant has shown itself on the connection. */
  admit(place: Place, tenant: string): void {
    if (place.among !== undefined) {
      this.#leave(place);
      const admitted = this.#admittedOf.get(tenant) ?? 0;
      if (admitted >= this.#settings.admittedMaxPerTenant) {
        this.#turnAway(place.socket, 'tenant');
        return;
      }
      place.tenant = tenant;
      this.#admitted += 1;
      this.#admittedOf.set(tenant, admitted + 1);
    }
    if (place.tenant !== undefined) this.#remember(place.source);
  }

  /** The client of the connection is no longer registered. */
  withdraw(place: Place): void {
    if (place.tenant === undefined) return;
    this.#leave(place);
    place.among = this.#fromKnown;
    place.among.add(place.source, place);
  }

  #leave(place: Place): void {
    place.among?.remove(place.source, place);
    place.among = undefined;
    if (place.tenant === undefined) return;
    this.#admitted -= 1;
    const left = (this.#admittedOf.get(place.tenant) ?? 1) - 1;
    if (left === 0) this.#admittedOf.delete(place.tenant);
    else this.#admittedOf.set(place.tenant, left);
    place.tenant = undefined;
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
    this.#settings.closed(crowd, socket.remoteAddress);
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
