/** A file that is open in this process: threads of the process read it by its descriptor. Whoever opened it closes it. */
export interface OpenFile {
  readonly descriptor: number;
  readonly bytes: number;
}

/** Content at hand, or in a file that is read piece by piece. */
export type Content = Uint8Array | OpenFile;
