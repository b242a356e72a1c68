import { native } from './native.ts';

const gone = new FinalizationRegistry<number>((bytes) => {
  native().adjustExternalMemory(-bytes);
});

/**
 * Returns zeroed memory that threads share. The system allocates pages on write, so unwritten pages
 * take no memory.
 */
export function sharedMemory(bytes: number): SharedArrayBuffer {
  return counted(new SharedArrayBuffer(bytes));
}

/**
 * Returns the same memory after reporting its size to the garbage collector, which does not count
 * memory shared between threads and would let gigabytes accumulate before its next run. Call it in
 * each thread that receives the memory, since each has its own collector.
 */
export function counted(memory: SharedArrayBuffer): SharedArrayBuffer {
  const { byteLength } = memory;
  native().adjustExternalMemory(byteLength);
  gone.register(memory, byteLength);
  return memory;
}
