/** A file of a copy of the state store. */
export interface SnapshotFile {
  readonly name: string;
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** The state store as it was at one moment, while others go on changing it. */
export interface StateSnapshot {
  /** Yields the rows of a SELECT without parameters, in the SQL that both databases have. */
  rows(select: string): AsyncGenerator;
  /**
   * Yields the files of a copy of the whole store. Each must be read to its end before the next.
   * @throws {Error} if the copy cannot be made
   */
  files(): AsyncGenerator<SnapshotFile>;
  close(): Promise<void>;
}
