import type { Sender } from '../telemetry/current-request.ts';

/** Keys that are not waiting are forgotten when so many are known. */
const sweepAtKeys = 1024;

interface Share<Queue> {
  readonly queue: Queue;
  /** What the key has used, in the unit of the costs. */
  used: number;
}

/**
 * Queues by key. The next is that of the waiting key which has used the least; of equals, the one
 * that has waited the longest since its last turn. A key that begins to wait counts as if it had
 * used no less than the key whose turn was last, so nobody saves up turns (start-time fair queuing,
 * Goyal, Vin and Cheng 1996).
 */
class Shares<Key, Queue extends { readonly length: number }> {
  readonly #make: () => Queue;
  readonly #shares = new Map<Key, Share<Queue>>();
  readonly #waiting = new Set<Key>();
  #usedAtLastTurn = 0;
  #length = 0;

  constructor(make: () => Queue) {
    this.#make = make;
  }

  /** Items of all keys. */
  get length(): number {
    return this.#length;
  }

  /** How many keys would have items waiting if this one had. */
  keysWith(key: Key): number {
    return this.#waiting.size + (this.#waiting.has(key) ? 0 : 1);
  }

  waitingOf(key: Key): Queue | undefined {
    return this.#waiting.has(key) ? this.#of(key).queue : undefined;
  }

  /** Returns the queue to which the caller adds one item. */
  add(key: Key): Queue {
    const share = this.#of(key);
    if (!this.#waiting.has(key)) {
      this.#waiting.add(key);
      share.used = Math.max(share.used, this.#usedAtLastTurn);
    }
    this.#length += 1;
    return share.queue;
  }

  /** Returns the key whose turn it is. */
  next(isAllowed: (key: Key) => boolean): { readonly key: Key; readonly queue: Queue } | undefined {
    let least: { readonly key: Key; readonly share: Share<Queue> } | undefined;
    for (const key of this.#waiting) {
      const share = this.#of(key);
      if ((least === undefined || share.used < least.share.used) && isAllowed(key)) least = { key, share };
    }
    return least === undefined ? undefined : { key: least.key, queue: least.share.queue };
  }

  /** Notes that the key had a turn, and that its queue is shorter by one item. */
  took(key: Key): void {
    this.#usedAtLastTurn = Math.max(this.#usedAtLastTurn, this.#of(key).used);
    this.removed(key, 1);
    // Behind the others that have used as much.
    if (this.#waiting.delete(key)) this.#waiting.add(key);
  }

  removed(key: Key, items: number): void {
    this.#length -= items;
    if (this.#of(key).queue.length === 0) this.#waiting.delete(key);
  }

  charge(key: Key, cost: number): Queue {
    const share = this.#of(key);
    share.used += cost;
    return share.queue;
  }

  *queues(): Generator<{ readonly key: Key; readonly queue: Queue }> {
    for (const key of [...this.#waiting]) yield { key, queue: this.#of(key).queue };
  }

  #of(key: Key): Share<Queue> {
    const known = this.#shares.get(key);
    if (known !== undefined) return known;
    if (this.#shares.size >= sweepAtKeys) for (const idle of this.#shares.keys()) if (!this.#waiting.has(idle)) this.#shares.delete(idle);
    const share = { queue: this.#make(), used: this.#usedAtLastTurn };
    this.#shares.set(key, share);
    return share;
  }
}

interface Waiting<T> {
  readonly item: T;
  readonly cost: number;
}

type Name = string | undefined;

/**
 * Items that wait for something scarce, in fair order: first among the tenants, then among the
 * clients of the tenant, by what each has used so far; those of one client in the order of their
 * arrival. All work without a sender counts as that of one more tenant.
 */
export class FairQueue<T> {
  readonly #tenants = new Shares<Name, Shares<Name, Waiting<T>[]>>(() => new Shares(() => []));

  get length(): number {
    return this.#tenants.length;
  }

  /**
   * Returns how many items are taken before one that the sender would add now, if all cost the
   * same: others have as many turns as this tenant and this client, and no more than they have
   * items.
   */
  ahead(sender: Sender | undefined): number {
    const clients = this.#tenants.waitingOf(sender?.tenant);
    if (clients === undefined) return Math.min(this.length, this.#tenants.keysWith(sender?.tenant) - 1);
    const own = clients.waitingOf(sender?.client)?.length ?? 0;
    const ofTenant = Math.min(clients.length, (own + 1) * clients.keysWith(sender?.client) - 1);
    return Math.min(this.length, (ofTenant + 1) * this.#tenants.keysWith(sender?.tenant) - 1);
  }

  /**
   * `cost`: what the item is expected to use, such as milliseconds; it is charged when it is taken.
   */
  push(item: T, sender: Sender | undefined, cost = 1): void {
    this.#tenants.add(sender?.tenant).add(sender?.client).push({ item, cost });
  }

  /** Adds an item as the next of its client, such as one that must be tried again. */
  pushFront(item: T, sender: Sender | undefined, cost = 1): void {
    this.#tenants.add(sender?.tenant).add(sender?.client).unshift({ item, cost });
  }

  /** Removes and returns the next item, if there is one of an allowed tenant. */
  take(isAllowed: (tenant: string | undefined) => boolean = () => true): T | undefined {
    const tenant = this.#tenants.next(isAllowed);
    const client = tenant?.queue.next(() => true);
    const taken = client?.queue.shift();
    if (tenant === undefined || client === undefined || taken === undefined) return undefined;
    tenant.queue.took(client.key);
    this.#tenants.took(tenant.key);
    this.#tenants.charge(tenant.key, taken.cost).charge(client.key, taken.cost);
    return taken.item;
  }

  /**
   * Charges what an item used beyond its expected cost; less than expected if it is negative.
   */
  charge(sender: Sender | undefined, cost: number): void {
    this.#tenants.charge(sender?.tenant, cost).charge(sender?.client, cost);
  }

  /** Removes and returns all items for which the predicate holds, without charging them. */
  takeWhere(isTaken: (item: T) => boolean): T[] {
    const taken: T[] = [];
    for (const tenant of this.#tenants.queues()) {
      let ofTenant = 0;
      for (const { key, queue } of tenant.queue.queues()) {
        const kept = queue.filter(({ item }) => !isTaken(item));
        if (kept.length === queue.length) continue;
        const removed = queue.splice(0).filter(({ item }) => isTaken(item));
        queue.push(...kept);
        taken.push(...removed.map(({ item }) => item));
        tenant.queue.removed(key, removed.length);
        ofTenant += removed.length;
      }
      this.#tenants.removed(tenant.key, ofTenant);
    }
    return taken;
  }
}
