import { native } from './native.ts';

const gone = new FinalizationRegistry<number>((bytes) => {
  native().adjustExternalMemory(-bytes);
});

/**
 * Zeros that threads share. The system gives pages as they are written: what is never written takes
 * no memory.
 */
export function sharedMemory(bytes: number): SharedArrayBuffer {
  return counted(new SharedArrayBuffer(bytes));
}

/**
 * The same memory, its size made known to the garbage collector: by itself it counts nothing of
 * memory that threads share, and lets gigabytes of it wait for its next turn. For memory that comes
 * from another thread, too: each has a collector of its own.
 */
export function counted(memory: SharedArrayBuffer): SharedArrayBuffer {
  const { byteLength } = memory;
  native().adjustExternalMemory(byteLength);
  gone.register(memory, byteLength);
  return memory;
}
