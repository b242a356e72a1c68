import { hash } from 'node:crypto';
import { closeSync, constants, fdatasyncSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The account of uses: one chain of files for each thread of the token host, one JSON object a
 * line. Each line has its number, the time, and the SHA-256 of the line before it, and then either
 * `uses` or `start`, which each start of the host writes.
 */
export interface AccountFile {
  readonly name: string;
  readonly path: string;
  /** Number of the thread that writes it. */
  readonly chain: number;
  /** From 1 on in each chain. */
  readonly number: number;
}

/** Content of the first line that a start writes. */
export interface AccountStart {
  /** Length of the half-written line that the start removed. */
  readonly cutBytes?: number | undefined;
  /** Why the file does not continue the one before it. */
  readonly gap?: string | undefined;
}

/** The last line of a chain. */
export interface AccountHead {
  readonly chain: number;
  readonly n: number;
  readonly hash: string;
}

/** Form of the name of a file of an account. */
export const accountFileForm = /^account-(\d{1,3})-(\d{8})\.jsonl$/;

export const noLine = '0'.repeat(64);
/** Far longer than any line. */
const tailBytes = 1 << 20;

export function accountFile(directory: string, chain: number, number: number): AccountFile {
  const name = `account-${chain}-${String(number).padStart(8, '0')}.jsonl`;
  return { name, path: join(directory, name), chain, number };
}

/**
 * The files of each chain, oldest first.
 * @throws the error of the file system where the directory cannot be read
 */
export function accountFiles(directory: string): ReadonlyMap<number, readonly AccountFile[]> {
  const files = readdirSync(directory).flatMap((name) => {
    const [, chain, number] = accountFileForm.exec(name) ?? [];
    return chain === undefined || number === undefined ? [] : [accountFile(directory, Number(chain), Number(number))];
  });
  return Map.groupBy(
    files.toSorted((left, right) => left.chain - right.chain || left.number - right.number),
    ({ chain }) => chain,
  );
}

/** SHA-256 of the bytes of a line without its line feed, hexadecimal. */
export function accountHash(line: string | Uint8Array): string {
  return hash('sha256', line, 'hex');
}

/** A line without its line feed. `rest`: `"uses":[…]` or `"start":{…}`. */
export function accountLine(n: number, time: string, previous: string, rest: string): string {
  return `{"n":${n},"time":"${time}","previous":"${previous}",${rest}}`;
}

export interface AccountTail {
  /** Number of the newest file; 0 where there is none. */
  readonly file: number;
  readonly n: number;
  readonly hash: string;
  /** Length of the newest file up to its last line feed, and of what follows it. */
  readonly goodBytes: number;
  readonly cutBytes: number;
  /** Whether the last line is one that this service writes. */
  readonly isSound: boolean;
}

/** Returns the end of a chain. @throws the error of the file system */
export function accountTail(files: readonly AccountFile[]): AccountTail {
  const newest = files.at(-1);
  if (newest === undefined) return { file: 0, n: 0, hash: noLine, goodBytes: 0, cutBytes: 0, isSound: true };
  const own = endOf(newest.path);
  // A file that a crash left without a line continues where the one before it ended.
  const found: Buffer[] = [];
  let numbered = -1;
  // Reads no more files than necessary: there may be thousands.
  for (const { path } of files.toReversed()) {
    found.push(...(path === newest.path ? own : endOf(path)).lines.toReversed());
    numbered = found.findIndex((line) => numberOf(line) !== undefined);
    if (numbered !== -1) break;
  }
  const [last] = found;
  if (last === undefined) return { file: newest.number, n: 0, hash: noLine, ...own, isSound: true };
  const unsound = Math.max(0, numbered);
  return {
    file: newest.number,
    n: (numberOf(found[unsound]) ?? 0) + unsound,
    hash: accountHash(last),
    goodBytes: own.goodBytes,
    cutBytes: own.cutBytes,
    isSound: unsound === 0 && numberOf(last) !== undefined,
  };
}

/** Returns the end of each chain, synced to disk. @throws the error of the file system */
export function accountHeads(directory: string): AccountHead[] {
  return [...accountFiles(directory)].map(([chain, files]) => {
    const newest = files.at(-1);
    if (newest !== undefined) syncFile(newest.path);
    const { n, hash: own } = accountTail(files);
    return { chain, n, hash: own };
  });
}

/** The last complete lines of a file, within `tailBytes` of its end. */
function endOf(path: string): { lines: Buffer[]; goodBytes: number; cutBytes: number } {
  const fd = openSync(path, constants.O_RDONLY);
  try {
    const { size } = fstatSync(fd);
    const start = Math.max(0, size - tailBytes);
    const bytes = Buffer.alloc(size - start);
    const end = readSync(fd, bytes, 0, bytes.length, start);
    const lines: Buffer[] = [];
    let from = start === 0 ? 0 : bytes.indexOf(0x0a) + 1;
    for (let feed = bytes.indexOf(0x0a, from); feed >= 0; feed = bytes.indexOf(0x0a, from)) {
      lines.push(bytes.subarray(from, feed));
      from = feed + 1;
    }
    return { lines, goodBytes: start + from, cutBytes: end - from };
  } finally {
    closeSync(fd);
  }
}

function syncFile(path: string): void {
  const fd = openSync(path, constants.O_RDONLY);
  try {
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function numberOf(line: Buffer | undefined): number | undefined {
  const digits = /^\{"n":(\d{1,15}),"time":"[^"]{24}","previous":"[0-9a-f]{64}",/.exec(line?.toString('latin1') ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}
