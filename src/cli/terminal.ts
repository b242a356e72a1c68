import { createInterface } from 'node:readline/promises';
import { printable } from './printable.ts';

/** Prints a line for the operator; standard output is for the result. */
export function say(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}

export function isTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Asks a question on the terminal and returns the answer without spaces around it. */
export async function askLine(text: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  try {
    const ended = Promise.withResolvers<never>();
    lines.once('SIGINT', () => {
      ended.reject(new Interrupted());
    });
    lines.once('close', () => {
      ended.reject(new Interrupted());
    });
    return (await Promise.race([lines.question(`${text} `), ended.promise])).trim();
  } finally {
    lines.close();
  }
}

/** Asks for a secret, which the terminal does not show. */
export async function askSecret(text: string): Promise<string> {
  const { stdin } = process;
  // Before the question is seen: what is typed in answer to it must not be shown.
  stdin.setRawMode(true);
  process.stderr.write(`${text} `);
  stdin.resume();
  let secret = '';
  try {
    for await (const chunk of stdin.iterator({ destroyOnReturn: false })) {
      for (const character of String(chunk)) {
        if (character === '\r' || character === '\n') return secret;
        if (character === '\u0003' || character === '\u0004') throw new Interrupted();
        if (character === '\u0015') secret = '';
        else if (character === '\u007f' || character === '\b') secret = secret.slice(0, -1);
        else secret += character;
      }
    }
    throw new Interrupted();
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    process.stderr.write('\n');
  }
}

/** The operator ended the dialogue. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted');
  }
}
