/** On a terminal, how often the line is drawn again. */
const drawMs = 200;
/** Elsewhere, how often a line is printed. */
const lineMs = 30_000;
const mebibyte = 1024 * 1024;

/** Progress of a command that may take long, on standard error. */
export interface Progress {
  /** Says how many bytes are done. Most calls print nothing. */
  at(bytes: number): void;
  /** Removes the line from the terminal. Call it before anything else is printed. */
  end(): void;
}

/**
 * Begins to show progress: on a terminal one line that is drawn again and again, elsewhere a line
 * every 30 s.
 * @param totalBytes bytes of all the work, if they are known
 */
export function showProgress(work: string, totalBytes?: number): Progress {
  const { stderr } = process;
  let last = performance.now();
  let hasDrawn = false;
  return {
    at(bytes) {
      const now = performance.now();
      if (now - last < (stderr.isTTY ? drawMs : lineMs)) return;
      last = now;
      const total = totalBytes === undefined ? '' : ` of ${Math.ceil(totalBytes / mebibyte)}`;
      const line = `${work}: ${Math.floor(bytes / mebibyte)}${total} MiB`;
      hasDrawn = stderr.isTTY;
      stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `signetctl: ${line}\n`);
    },
    end() {
      if (hasDrawn) stderr.write('\r\u001b[K');
      hasDrawn = false;
    },
  };
}
