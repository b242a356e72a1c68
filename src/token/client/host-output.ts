import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';

/** Longer lines are cut: a module may print anything. */
const lineMaxCharacters = 8192;

/** A line that the host wrote to its standard error. */
export interface HostLine {
  /** False for what a module printed. */
  readonly isOwn: boolean;
  readonly level: 'error' | 'warn';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const OwnLine = z.object({ level: z.enum(['error', 'warn']), message: z.string() }).catchall(z.unknown());

/**
 * Reads the standard error of a token host: JSON lines of the host itself, and whatever a module
 * prints.
 */
export class HostOutput {
  readonly #decoder = new StringDecoder('utf8');
  readonly #told: (line: HostLine) => void;
  #rest = '';

  constructor(told: (line: HostLine) => void) {
    this.#told = told;
  }

  add(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#tell(line);
    // The rest of a line that never ends is dropped, up to its end.
    this.#rest = this.#rest.slice(0, lineMaxCharacters + 1);
  }

  /** Tells the last line, which need not have an end. */
  end(): void {
    this.#tell(this.#rest);
    this.#rest = '';
  }

  #tell(line: string): void {
    if (line.trim() !== '') this.#told(hostLine(line));
  }
}

function hostLine(line: string): HostLine {
  try {
    const { level, message, ...fields } = OwnLine.parse(JSON.parse(line));
    return { isOwn: true, level, message, fields };
  } catch {
    const output = line.length <= lineMaxCharacters ? line : `${line.slice(0, lineMaxCharacters)}…`;
    return { isOwn: false, level: 'error', message: 'the token host or its module printed a line', fields: { output } };
  }
}
