import type { FileHandle } from 'node:fs/promises';
import type { TransferFileRow } from '../../state/tables/transfer-files.ts';

/** A complete file. `sha256`: hexadecimal. */
export interface Filled {
  readonly bytes: number;
  readonly sha256: string;
}

/** Content that arrives. The caller must close it. */
export interface ArrivingContent {
  /** An empty file to be filled. */
  readonly handle: FileHandle;
  /** Whether the file itself remains, so that it is worth syncing while it is filled. */
  readonly isLasting: boolean;
  /** Stores what the file was filled with so that it survives a crash of the machine. */
  keep(filled: Filled): Promise<void>;
  close(): Promise<void>;
}

/** Content that is read in order, such as an open file. */
export interface ContentReader {
  /**
   * Reads at most `length` bytes into the buffer from `offset` on. `position`: the end of what was
   * read before, 0 at first.
   */
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

export interface ListedContent {
  readonly id: string;
  /** Milliseconds since 1970 (UTC). */
  readonly changedAtMs: number;
}

/**
 * Keeps the content of files under their identifiers. Which of them exist, for whom, and whether
 * they are complete is in the state store. Errors of the local disk are thrown as they are.
 */
export interface TransferContents {
  /**
   * Prepares the place, which may be out of reach for now.
   * @throws {Error} if the place cannot be used as it is configured
   */
  prepare(): Promise<void>;
  create(id: string): Promise<ArrivingContent>;
  /**
   * Opens a file for reading anywhere in it; undefined if it was removed. The caller must close it.
   */
  open(file: TransferFileRow): Promise<FileHandle | undefined>;
  /** Opens a file for reading in order; undefined if it was removed. The caller must close it. */
  openInOrder(file: TransferFileRow): Promise<ContentReader | undefined>;
  /** Removes a file, if there is one. */
  remove(id: string): Promise<void>;
  list(): AsyncIterable<readonly ListedContent[]>;
  /** Returns the reason why the place cannot be used now. */
  readonly fault: string | undefined;
  /** Checks whether a place that could not be used can be used again. */
  probe(): Promise<void>;
  close(): void;
}
