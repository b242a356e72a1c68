import { createConnection, type Socket } from 'node:net';
import { Greeting } from '../host/greeting.ts';
import type { ProbeReport } from '../probe-report.ts';
import { encodeFrame, FrameSplitter, type Frame } from '../wire/frames.ts';

/** One connection to one thread of the host. */
export interface ThreadLink {
  /** Requests sent and not answered. */
  readonly pending: Map<number, LinkRequest>;
  send(request: LinkRequest): void;
}

/** A request on its way: what is sent, and who waits. */
export interface LinkRequest {
  readonly id: number;
  readonly code: number;
  readonly body: Uint8Array;
  /** May be sent again after the host died: everything but the creation of a key. */
  readonly repeatable: boolean;
  repeated: boolean;
  /** Keeps its thread busy for long (key generation): nothing is queued behind it. */
  readonly slow: boolean;
  settle(frame: Frame): void;
  fail(error: Error): void;
}

/** The connections to one run of the host. */
export interface HostLink {
  readonly threads: readonly ThreadLink[];
  readonly probe: ProbeReport;
  close(): void;
}

export interface LinkEvents {
  answered(): void;
  lost(unanswered: readonly LinkRequest[]): void;
}

/** Connects to the host's socket, reads where its threads listen, and connects to each. Rejects where nobody listens. */
export async function connectHost(socketPath: string, events: LinkEvents): Promise<HostLink> {
  const control = await connected(socketPath);
  const sockets = [control];
  let closed = false;
  const threads: ThreadLink[] = [];
  let greeting: Greeting;
  const lose = (): void => {
    if (closed) return;
    closed = true;
    for (const socket of sockets) socket.destroy();
    events.lost(threads.flatMap((thread) => [...thread.pending.values()]));
  };
  try {
    greeting = Greeting.parse(JSON.parse(await firstLine(control)));
    for (const socket of await Promise.all(greeting.threads.map(connected))) {
      sockets.push(socket);
      threads.push(threadLink(socket, events, lose));
    }
  } catch (error) {
    for (const socket of sockets) socket.destroy();
    throw error;
  }
  for (const socket of sockets) socket.on('close', lose).on('error', lose);
  if (sockets.some((socket) => socket.destroyed)) throw new Error('the host closed its socket');
  return {
    threads,
    probe: greeting.probe,
    close() {
      closed = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

function threadLink(socket: Socket, events: LinkEvents, lose: () => void): ThreadLink {
  const pending = new Map<number, LinkRequest>();
  const splitter = new FrameSplitter();
  let unsent: Buffer[] = [];
  socket.on('data', (chunk) => {
    try {
      for (const frame of splitter.push(chunk)) {
        const request = pending.get(frame.id);
        pending.delete(frame.id);
        request?.settle(frame);
      }
    } catch {
      lose();
      return;
    }
    events.answered();
  });
  return {
    pending,
    send(request) {
      pending.set(request.id, request);
      // What one turn of the loop brings goes out in one write.
      if (unsent.length === 0) {
        queueMicrotask(() => {
          const frames = unsent;
          unsent = [];
          if (!socket.destroyed) socket.write(frames.length === 1 && frames[0] !== undefined ? frames[0] : Buffer.concat(frames));
        });
      }
      unsent.push(encodeFrame(request.id, request.code, request.body));
    },
  };
}

async function connected(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
  });
}

async function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (chunk: Buffer): void => {
      text += chunk.toString('utf8');
      if (!text.includes('\n')) return;
      socket.off('data', read);
      resolve(text.slice(0, text.indexOf('\n')));
    };
    socket.on('data', read);
    socket.once('close', () => {
      reject(new Error('the host closed its socket'));
    });
  });
}
