import { hash } from 'node:crypto';
import type { Entry, Place } from './record.ts';

/** Before the first record. */
export const beginning: Place = { n: 0, hash: '0'.repeat(64) };

/** SHA-256 of the exact bytes of a line, without its line feed; hexadecimal. */
export function lineHash(line: string | Uint8Array): string {
  return hash('sha256', line, 'hex');
}

/** The line of the record after `previous`, without its line feed. `body` is what `entryBody` made. */
export function chainedLine(previous: Place, time: string, body: string): string {
  return `{"n":${previous.n + 1},"time":"${time}","previous":"${previous.hash}",${body}`;
}

/** What an entry adds to its line. */
export function entryBody(entry: Entry): string {
  return JSON.stringify(entry).slice(1);
}
