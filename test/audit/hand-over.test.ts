import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HandOver } from '../../src/audit/syslog/hand-over.ts';

const limits = { lagMaxMs: 30_000, settleMs: 5000 };
const stepMs = 250;

/** A service, its log and its server in simulated time: each record needs a connection that lasts to be received. */
class Simulation {
  readonly #handOver = new HandOver(limits);
  nowMs = 0;
  durable = 0;
  received = 0;
  connectedSinceMs: number | undefined;
  changes: string[] = [];
  /** Records that arrived since, by the time when they were sent. */
  #sent: { n: number; atMs: number }[] = [];
  isTaking = true;

  get isHeldUp(): boolean {
    return this.#handOver.isHeldUp;
  }

  get lagMs(): number {
    return this.#handOver.lagMs;
  }

  connect(): void {
    this.connectedSinceMs = this.nowMs;
    this.#sent = [{ n: this.durable, atMs: this.nowMs }];
  }

  disconnect(): void {
    this.connectedSinceMs = undefined;
    this.#sent = [];
  }

  /** Lets time pass. `records`: whether requests are made, which have records unless they are held up. */
  pass(ms: number, { records = false } = {}): void {
    for (let left = ms; left > 0; left -= stepMs) {
      this.nowMs += stepMs;
      if (records && !this.isHeldUp) this.durable += 1;
      if (this.connectedSinceMs !== undefined && this.isTaking) {
        this.#sent.push({ n: this.durable, atMs: this.nowMs });
        const settled = this.#sent.findLast(({ atMs }) => this.nowMs - atMs >= limits.settleMs);
        this.received = Math.max(this.received, settled?.n ?? 0);
      }
      this.look();
    }
  }

  look(): void {
    const { connectedSinceMs, received, durable } = this;
    if (this.#handOver.look({ connectedSinceMs, received, durable }, this.nowMs))
      this.changes.push(`${this.nowMs} ${this.isHeldUp ? 'held up' : 'goes on'}`);
  }
}

function running(): Simulation {
  const simulation = new Simulation();
  simulation.connect();
  simulation.look();
  simulation.pass(60_000, { records: true });
  simulation.changes = [];
  return simulation;
}

describe('requests whose records a syslog server must have', () => {
  it('wait for the first connection, and for nothing more', () => {
    const simulation = new Simulation();
    simulation.pass(60_000);
    expect([simulation.isHeldUp, simulation.changes]).toEqual([true, []]);
    simulation.connect();
    simulation.look();
    expect(simulation.changes).toEqual(['60000 goes on']);
    simulation.pass(60_000, { records: true });
    expect(simulation.changes).toEqual(['60000 goes on']);
  });

  it('wait too if the first connection proves nothing', () => {
    const simulation = new Simulation();
    simulation.connect();
    simulation.look();
    simulation.disconnect();
    simulation.pass(40_000, { records: true });
    expect(simulation.changes).toEqual(['0 goes on', '30250 held up']);
  });

  it('go on through an outage that is shorter than the lag', () => {
    const simulation = running();
    simulation.disconnect();
    simulation.pass(19_000, { records: true });
    simulation.connect();
    simulation.pass(60_000, { records: true });
    expect(simulation.changes).toEqual([]);
  });

  it.each([true, false])(
    'are held up when the server is away for longer, with records (%s), and go on after it has come back for a while',
    (records) => {
      const simulation = running();
      for (let outage = 0; outage < 2; outage += 1) {
        const beganMs = simulation.nowMs;
        simulation.changes = [];
        simulation.disconnect();
        simulation.pass(180_000, { records });
        expect(simulation.changes).toHaveLength(1);
        const heldMs = Number(simulation.changes[0]?.split(' ')[0]) - beganMs;
        expect(heldMs).toBeGreaterThan(24_000);
        expect(heldMs).toBeLessThanOrEqual(30_250);
        const { nowMs } = simulation;
        simulation.connect();
        simulation.pass(60_000, { records });
        expect(simulation.changes.slice(1)).toEqual([expect.stringContaining('goes on')]);
        const freedMs = Number(simulation.changes[1]?.split(' ')[0]) - nowMs;
        expect([freedMs >= 5000, freedMs <= 6000]).toEqual([true, true]);
      }
    },
  );

  it('are held up while the server acknowledges nothing, though it is connected', () => {
    const simulation = running();
    simulation.isTaking = false;
    simulation.pass(40_000, { records: true });
    expect(simulation.changes).toHaveLength(1);
    expect(simulation.lagMs).toBeGreaterThan(30_000);
    simulation.isTaking = true;
    simulation.pass(30_000, { records: true });
    simulation.pass(10_000);
    expect(simulation.lagMs).toBe(0);
    expect(simulation.changes).toEqual([expect.stringContaining('held up'), expect.stringContaining('goes on')]);
    // Without records, a connection is enough.
    simulation.isTaking = false;
    simulation.pass(60_000);
    expect(simulation.changes).toHaveLength(2);
  });

  it('go on once at most half of the lag is left, and the server is connected', () => {
    const handOver = new HandOver(limits);
    const at = (nowMs: number, received: number, durable: number, connectedSinceMs: number | null = 0): boolean => {
      handOver.look({ connectedSinceMs: connectedSinceMs ?? undefined, received, durable }, nowMs);
      return handOver.isHeldUp;
    };
    expect([at(0, 0, 0), at(10_000, 0, 1), at(22_000, 0, 2), at(40_000, 0, 2)]).toEqual([false, false, false, false]);
    expect([at(40_001, 0, 2), handOver.lagMs]).toEqual([true, 30_001]);
    expect([at(40_500, 1, 2), handOver.lagMs]).toEqual([true, 18_500]);
    expect([at(41_000, 2, 2, null), handOver.lagMs]).toEqual([true, 0]);
    expect(at(41_500, 2, 2, 41_400)).toBe(false);
    // Records that are late together are as late as the first of them.
    for (let n = 3; n < 10; n += 1) at(42_000 + n, 2, n, 41_400);
    expect(at(80_000, 2, 9, 41_400)).toBe(true);
    expect([at(80_001, 8, 9, 41_400), handOver.lagMs > 37_000]).toEqual([true, true]);
    expect([at(80_002, 9, 9, 41_400), handOver.lagMs]).toEqual([false, 0]);
  });

  it('stay held up while a server takes connections and drops them', () => {
    const simulation = running();
    for (let round = 0; round < 60; round += 1) {
      simulation.disconnect();
      simulation.pass(500, { records: true });
      simulation.connect();
      simulation.look();
      simulation.pass(4000, { records: true });
    }
    expect(simulation.changes).toEqual([expect.stringContaining('held up')]);
  });

  it('never go on for long without the server, and are not held up again and again', () => {
    const phase = fc.tuple(fc.integer({ min: 1, max: 160 }), fc.integer({ min: 1, max: 160 }));
    fc.assert(
      fc.property(fc.array(phase, { minLength: 1, maxLength: 30 }), fc.boolean(), (phases, records) => {
        const simulation = running();
        const began = simulation.nowMs;
        for (const [up, down] of phases) {
          simulation.disconnect();
          for (let left = down; left > 0; left -= 1) {
            simulation.pass(stepMs, { records });
            // At most the records of the lag are not received.
            if (!simulation.isHeldUp) expect(simulation.durable - simulation.received).toBeLessThanOrEqual(limits.lagMaxMs / stepMs + 2);
          }
          simulation.connect();
          simulation.look();
          simulation.pass(up * stepMs, { records });
        }
        // Both ways together take at least an outage and the proof of its end.
        expect(simulation.changes.length).toBeLessThanOrEqual(2 + (2 * (simulation.nowMs - began)) / (limits.lagMaxMs / 2));
        simulation.pass(60_000, { records });
        expect([simulation.isHeldUp, simulation.received >= simulation.durable - 21]).toEqual([false, true]);
      }),
      { numRuns: 200 },
    );
  });
});
