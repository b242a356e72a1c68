/** Where one piece of bytes was put into a document. */
export interface InsertedBytes {
  /** Offset in the original. */
  readonly offset: number;
  readonly bytes: Buffer;
}

/**
 * Finds the one insertion that makes `result` of `original`, all other bytes being the same. Undefined if there is none.
 * `unitBytes`: size of a code unit, which is not divided.
 */
export function insertedBytes(original: Buffer, result: Buffer, unitBytes = 1): InsertedBytes | undefined {
  let same = 0;
  while (same < original.length && original[original.length - 1 - same] === result[result.length - 1 - same]) same += 1;
  const offset = original.length - (same - (same % unitBytes));
  const tail = original.length - offset;
  if (!original.subarray(0, offset).equals(result.subarray(0, offset))) return undefined;
  return { offset, bytes: result.subarray(offset, result.length - tail) };
}
