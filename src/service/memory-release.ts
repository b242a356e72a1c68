import { native } from './native.ts';

const everySeconds = 30;

/**
 * Returns free memory to the kernel, now and regularly. The C library keeps the pages between the
 * blocks in use, which are those of the busiest moment so far. Under load, one return takes a few
 * milliseconds.
 */
export function releaseFreeMemoryRegularly(): void {
  native().releaseFreeMemory();
  setInterval(() => {
    native().releaseFreeMemory();
  }, everySeconds * 1000).unref();
}
