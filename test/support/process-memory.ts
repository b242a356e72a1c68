import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

const chunkBytes = 1 << 20;

/** How often each text is found in the memory of a process, in bytes as UTF-8 and as UTF-16 have them. It has to be a child of this one, or this one root. */
export function timesInMemory(pid: number, texts: readonly string[]): Record<string, number> {
  const found = Object.fromEntries(texts.map((text) => [text, 0]));
  const wanted = texts
    .flatMap((text) => [Buffer.from(text, 'utf8'), Buffer.from(text, 'utf16le')].map((bytes) => ({ text, bytes })))
    .toSorted((one, other) => one.bytes.length - other.bytes.length);
  const overlap = Math.max(...wanted.map(({ bytes }) => bytes.length)) - 1;
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  // Not in the heap of this process, where what was read would be found by the next scan of it.
  const chunk = Buffer.from(new SharedArrayBuffer(chunkBytes + overlap));
  try {
    for (const { from, to } of readableMappings(pid)) {
      for (let at = from; at < to; at += chunkBytes) {
        const length = readAt(memory, chunk, at, Math.min(chunkBytes + overlap, to - at));
        const bytes = chunk.subarray(0, length);
        const absent: Buffer[] = [];
        for (const { text, bytes: needle } of wanted) {
          // A text whose beginning is not there is not there.
          if (absent.some((short) => needle.indexOf(short) === 0)) continue;
          let place = bytes.indexOf(needle);
          if (place < 0 || place >= chunkBytes) absent.push(needle);
          // What begins in the overlap is the next chunk's.
          while (place >= 0 && place < chunkBytes) {
            found[text] = (found[text] ?? 0) + 1;
            place = bytes.indexOf(needle, place + 1);
          }
        }
      }
    }
    return found;
  } finally {
    closeSync(memory);
  }
}

function readableMappings(pid: number): { from: number; to: number }[] {
  return readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, from = '', to = '', rights = '', name = ''] = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+\s*(.*)$/.exec(line) ?? [];
      // The kernel's own pages cannot be read so.
      if (!rights.startsWith('r') || name.startsWith('[v')) return [];
      // What a file has, such as the code of Node.
      if (!rights.includes('w') && name.startsWith('/')) return [];
      return [{ from: Number.parseInt(from, 16), to: Number.parseInt(to, 16) }];
    });
}

/** Fewer bytes where the mapping has ended meanwhile, or was never filled. */
function readAt(memory: number, chunk: Buffer, at: number, length: number): number {
  try {
    return readSync(memory, chunk, 0, length, at);
  } catch {
    return 0;
  }
}
