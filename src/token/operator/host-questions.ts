import { createConnection, type Socket } from 'node:net';
import { Greeting } from '../host/greeting.ts';
import { FieldReader } from '../wire/fields.ts';
import { answerOf, encodeFrame, FrameSplitter, operations, statuses, type Answer } from '../wire/frames.ts';
import { faultWords, TokenFailure } from './token-failure.ts';
import type { AskToken } from './token-reports.ts';

const greetingMs = 5000;
const maxGreetingBytes = 65_536;

export interface HostQuestions {
  readonly ask: AskToken;
  close(): void;
}

/**
 * Connects to the running token host. Returns undefined if none listens; only then may another
 * process open the token.
 * @param answerMs how long an answer may take
 * @throws {TokenFailure} if a host listens but does not talk to us
 */
export async function connectToHost(socketPath: string, answerMs: number): Promise<HostQuestions | undefined> {
  const control = await connected(socketPath);
  if (control === undefined) return undefined;
  try {
    const path = threadSocket(await withinTime(firstLine(control), greetingMs, 'the token host sent no greeting'));
    const thread = await connected(path);
    if (thread === undefined) throw new TokenFailure('unreachable', 'the token host is shutting down; try again');
    const frames = answers(thread);
    let id = 0;
    return {
      async ask(name, question) {
        id += 1;
        thread.write(encodeFrame(id, operations[name], Buffer.from(JSON.stringify(question))));
        return jsonOf(await withinTime(frames.next(), answerMs, 'the token host does not answer'));
      },
      close() {
        thread.destroy();
        control.destroy();
      },
    };
  } catch (error) {
    control.destroy();
    throw error;
  }
}

function threadSocket(greeting: string): string {
  try {
    const { threads } = Greeting.parse(JSON.parse(greeting));
    // The daemon uses the first threads first.
    return threads.at(-1) ?? '';
  } catch {
    throw new TokenFailure('unreachable', 'the token host speaks another version of its protocol; restart it');
  }
}

function jsonOf({ status, body }: Answer): unknown {
  if (status === statuses.ok) return JSON.parse(body.toString('utf8'));
  if (status === statuses.fault || status === statuses.lost) {
    const reader = new FieldReader(body);
    const { kind, text } = faultWords(reader.u32(), reader.bytes().toString('utf8'));
    throw new TokenFailure(kind, text);
  }
  throw new TokenFailure('unreachable', body.toString('utf8'));
}

/** Returns one answer for each question; questions are asked one at a time. */
function answers(socket: Socket): { next(): Promise<Answer> } {
  const splitter = new FrameSplitter();
  let waiting: PromiseWithResolvers<Answer> | undefined;
  const lost = (): void => {
    waiting?.reject(new TokenFailure('unreachable', 'the token host ended before it answered; try again'));
  };
  socket.on('close', lost);
  socket.on('data', (chunk) => {
    try {
      for (const frame of splitter.push(chunk)) waiting?.resolve(answerOf(frame));
    } catch {
      socket.destroy();
    }
  });
  return {
    async next() {
      waiting = Promise.withResolvers();
      if (socket.destroyed) lost();
      return waiting.promise;
    },
  };
}

async function connected(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(undefined);
      else if (error.code === 'EACCES') {
        reject(new TokenFailure('unreachable', `${path}: permission denied; run this as the user of signetd, or as root`));
      } else reject(new TokenFailure('unreachable', `${path}: ${error.message}`));
    });
    socket.once('connect', () => {
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
  });
}

async function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      if (text.includes('\n') || text.length > maxGreetingBytes) resolve(text.split('\n', 1)[0] ?? '');
    });
    socket.once('close', () => {
      reject(
        new TokenFailure(
          'unreachable',
          'the token host closed the connection: it serves only token.clientUser and root, or it is shutting down',
        ),
      );
    });
  });
}

async function withinTime<T>(promise: Promise<T>, milliseconds: number, otherwise: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new TokenFailure('unreachable', `${otherwise} within ${milliseconds / 1000} s`));
  }, milliseconds);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
