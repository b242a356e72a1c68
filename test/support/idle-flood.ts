import { connect, type Socket } from 'node:net';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { z } from 'zod';

/**
 * Connections that say nothing, from an address of their own (all of 127.0.0.0/8 is this machine): as many as are wanted, and another for each that is
 * closed. Of these a bounded number a second is made, so that the machine's processors are not what is tried.
 */
const Flood = z.object({ port: z.number(), from: z.array(z.string()), connections: z.number(), perSecond: z.number(), first: z.string() });
type Flood = z.output<typeof Flood>;

const tickMs = 20;
/** At the beginning, a tick. */
const atOnce = 100;

export class IdleFlood {
  readonly #worker: Worker;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Begins when each of the connections has been tried once. `first`: what each sends, if anything. */
  static async begin(flood: Omit<Flood, 'perSecond' | 'first'> & Partial<Flood>): Promise<IdleFlood> {
    const worker = new Worker(new URL(import.meta.url), { workerData: { perSecond: 300, first: '', ...flood } });
    await new Promise((resolve, reject) => {
      worker.once('message', resolve).once('error', reject);
    });
    return new IdleFlood(worker);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

function hold({ port, from, connections, perSecond, first }: Flood): void {
  const open = new Set<Socket>();
  let made = 0;
  const one = (): void => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from[made % from.length] });
    open.add(socket);
    made += 1;
    if (first !== '') socket.write(first);
    socket.on('error', () => undefined).on('close', () => void open.delete(socket));
    if (made === connections) parentPort?.postMessage('full');
  };
  setInterval(() => {
    const most = made < connections ? atOnce : (perSecond * tickMs) / 1000;
    for (let count = 0; count < most && open.size < connections; count += 1) one();
  }, tickMs);
}

if (parentPort !== null && workerData !== null) {
  const task = Flood.safeParse(workerData);
  if (task.success) hold(task.data);
}
