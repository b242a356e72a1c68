import { clashingName, entryNameFault } from './entry-name.ts';
import { directoryBytes, localHeaderBytes } from './headers.ts';

/** Name of a future entry and size of its content before compression. */
export interface PlannedEntry {
  readonly name: string;
  readonly bytes: number;
}

/** Reason why entries cannot be in one container. */
export interface ZipFault {
  /** Whether it is the name of an entry, or the number or size of all. */
  readonly kind: 'NAME' | 'SIZE';
  /** Index of the entry with the bad name. */
  readonly entry?: number;
  readonly text: string;
}

/** In a container without ZIP64, all ones in a field mean that its value is elsewhere. */
const maxEntries = 0xffff - 1;
const maxBytes = 0xffff_ffff - 1;

/**
 * Checks entries before anything is signed or written: their names, and that the container needs no
 * ZIP64, whatever compression saves. An entry is never stored with more bytes than its content has,
 * so a container that passes can be written. Returns undefined if nothing is wrong.
 */
export function zipFault(entries: readonly PlannedEntry[]): ZipFault | undefined {
  for (const [entry, { name }] of entries.entries()) {
    const fault = entryNameFault(name);
    if (fault !== undefined) return { kind: 'NAME', entry, text: `the name of a ZIP entry ${fault}` };
  }
  const names = entries.map(({ name }) => name);
  const clash = clashingName(names);
  if (clash !== undefined)
    return { kind: 'NAME', entry: clash, text: 'the name of a ZIP entry clashes with that of another, perhaps in another case' };
  if (entries.length > maxEntries) return { kind: 'SIZE', text: `a ZIP container holds at most ${maxEntries} entries` };
  const content = entries.reduce((sum, { name, bytes }) => sum + localHeaderBytes(name) + bytes, 0);
  if (content + directoryBytes(names) <= maxBytes) return undefined;
  return { kind: 'SIZE', text: `a ZIP container holds at most ${maxBytes} bytes before compression` };
}
