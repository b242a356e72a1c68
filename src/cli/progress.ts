import { printable, compactJson } from './printable.ts';
import { printsJson } from './outcome.ts';

/** On a terminal, how often the line of progress is drawn again. */
const drawMs = 200;
/** Elsewhere, how often a line of progress is printed. */
const lineMs = 30_000;

/** Progress of a command that may take long, on standard error. */
export interface Progress {
  /** Says how much is done. Call it as often as you like: most calls print nothing. */
  readonly at: (done: number) => void;
  /** Removes the line from the terminal. Call it before anything else is printed. */
  readonly end: () => void;
}

export interface ProgressOptions {
  /** Names the work, such as `audit verify`. */
  readonly work: string;
  /** Unit of the amounts, such as `bytes`. */
  readonly unit: string;
  /** Amount of all the work; absent if it is not known. */
  readonly total?: number | undefined;
}

/**
 * Begins to show progress. On a terminal it is one line that is drawn again and again; elsewhere,
 * and with --json, one line every 30 s, so that a command that takes seconds prints none.
 */
export function showProgress({ work, unit, total }: ProgressOptions): Progress {
  const { stderr } = process;
  const drawsLine = stderr.isTTY && !printsJson();
  let last = performance.now();
  let hasDrawn = false;
  const words = (done: number): string => {
    const amount = `${done.toLocaleString('en')}${total === undefined ? '' : ` of ${total.toLocaleString('en')}`} ${unit}`;
    const percent = total === undefined || total === 0 ? '' : `, ${Math.floor((Math.min(done, total) / total) * 100)} %`;
    return printable(`${work}: ${amount}${percent}`);
  };
  return {
    at(done) {
      const now = performance.now();
      if (now - last < (drawsLine ? drawMs : lineMs)) return;
      last = now;
      if (drawsLine) {
        hasDrawn = true;
        stderr.write(`\r\u001b[K${words(done)}`);
      } else if (printsJson()) stderr.write(`${compactJson({ progress: { work, unit, done, total: total ?? null } })}\n`);
      else stderr.write(`signetctl: ${words(done)}\n`);
    },
    end() {
      if (hasDrawn) stderr.write('\r\u001b[K');
      hasDrawn = false;
    },
  };
}
