import { crc32 } from 'node:zlib';
import { blockBytes, deflated, type DeflateLevel } from '../zip/deflate.ts';
import { centralDirectory, dosTime, type EntryHeader, localHeader } from '../zip/headers.ts';
import { zipFault } from '../zip/limits.ts';
import { type Content, contentBytes, contentPieces, type EvidencePiece, type SignedFile } from './content.ts';

/** 0: stored as it is. An entry that compression does not make smaller is also stored. */
export type ZipLevel = 0 | DeflateLevel;

/** A file of a ZIP container. */
export interface ZipEntry {
  readonly name: string;
  readonly content: Uint8Array | SignedFile;
  readonly level: ZipLevel;
  /**
   * What `measure` found in this content with this level, by the same version of Node on the same
   * kind of processor if it is compressed; absent: the content is measured now.
   */
  readonly measured?: Measure;
}

/** What the header of an entry needs to know of its content. Plain JSON. */
export interface Measure {
  readonly crc32: number;
  /** Size of the compressed content; absent if it is stored. */
  readonly deflatedBytes?: number;
}

/**
 * Reads content once for the header of its entry.
 * @throws {Fault} CONTENT_CHANGED
 */
export function measure(content: Content, level: ZipLevel): Measure {
  let checksum = 0;
  function* read(): Generator<Uint8Array, void> {
    for (const piece of contentPieces(content)) {
      checksum = crc32(piece, checksum);
      yield piece;
    }
  }
  let bytes = 0;
  for (const piece of level === 0 ? read() : deflated(read(), level)) bytes += piece.length;
  return level === 0 || bytes >= contentBytes(content) ? { crc32: checksum } : { crc32: checksum, deflatedBytes: bytes };
}

/**
 * Returns a ZIP container in pieces, its entries in their order. Contents that are not measured yet
 * are read once here, and all are read on delivery: files belong in work threads. The same entries
 * and time give the same bytes.
 * @param modified of all entries, in steps of two seconds
 * @throws {Fault} CONTENT_CHANGED
 * @throws {RangeError} for entries in which `zipFault` finds a fault, and a time outside 1980 to
 * 2107
 */
export function zipContainer(entries: readonly ZipEntry[], modified: Date): EvidencePiece[] {
  const fault = zipFault(entries.map(({ name, content }) => ({ name, bytes: contentBytes(content) })));
  if (fault !== undefined) throw new RangeError(fault.text);
  const time = dosTime(modified);
  const headers: EntryHeader[] = [];
  const pieces: EvidencePiece[] = [];
  for (const { name, content, level, measured = measure(content, level) } of entries) {
    const piece = packed(content, level, measured.deflatedBytes);
    const method = piece === content ? 'STORED' : 'DEFLATED';
    const header = { name, method, crc32: measured.crc32, bytes: contentBytes(content), storedBytes: contentBytes(piece) } as const;
    headers.push(header);
    pieces.push(localHeader(header, time), piece);
  }
  pieces.push(centralDirectory(headers, time));
  return pieces;
}

/** Small content is compressed here, anything else on delivery. */
function packed(content: Uint8Array | SignedFile, level: ZipLevel, deflatedBytes: number | undefined): EvidencePiece {
  if (level === 0 || deflatedBytes === undefined) return content;
  if (content instanceof Uint8Array && content.length <= blockBytes) return Buffer.concat([...deflated([content], level)]);
  return { deflated: content, level, bytes: deflatedBytes };
}
