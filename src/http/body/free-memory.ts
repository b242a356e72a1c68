/**
 * Frees the memory of bytes that nobody reads any more, unless other bytes lie in it too: afterwards
 * the buffer is empty. The garbage collector would free it later, and each 64 MiB of such memory make
 * it go through the whole heap.
 */
export function freeMemory(bytes: Buffer): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length) buffer.transfer(0);
}
