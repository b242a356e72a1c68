import { maxFileNameBytes } from './document.ts';

/** Whether a text can name a file in a directory: no path, no control characters, not too long. */
export function isFileName(name: string): boolean {
  return name.length > 0 && name !== '.' && name !== '..' && !/[/\\\p{Cc}]/u.test(name) && Buffer.byteLength(name) <= maxFileNameBytes;
}
