/*
 * The MAC key can be replaced, and its keys are numbered: the first is number 0. A stored MAC says
 * which of them made it: the number follows the MAC, 4 octets, big-endian; nothing follows a MAC of
 * key 0. Naming another key is of no use to who writes to the state store, since the MAC verifies
 * with its own key only.
 */

const macBytes = 32;
const generationBytes = 4;
const generationMax = 0xffff;

/** Appends the number of the key. */
export function storedMac(mac: Uint8Array, generation: number): Uint8Array {
  if (generation === 0) return mac;
  const suffix = Buffer.alloc(generationBytes);
  suffix.writeUInt32BE(generation);
  return Buffer.concat([mac, suffix]);
}

/** Whether these octets have the length of a stored MAC. */
export function isStoredMac(bytes: Uint8Array): boolean {
  return bytes.length === macBytes || bytes.length === macBytes + generationBytes;
}

/** Returns MAC and number of the key. A MAC of another length is kept as it is, and verifies nothing. */
export function readStoredMac(bytes: Uint8Array): { readonly mac: Uint8Array; readonly generation: number } {
  if (bytes.length !== macBytes + generationBytes) return { mac: bytes, generation: 0 };
  const generation = Buffer.from(bytes.buffer, bytes.byteOffset + macBytes, generationBytes).readUInt32BE();
  return generation > generationMax ? { mac: bytes, generation: 0 } : { mac: bytes.subarray(0, macBytes), generation };
}
