import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Form of the name of a file of a log. */
export const auditFileForm = /^audit-(\d{8})\.jsonl$/;

export interface AuditFile {
  readonly name: string;
  readonly path: string;
  readonly number: number;
  /** Where its content is in `path`, if that is a bundle: offset and length in bytes. */
  readonly within?: { readonly offset: number; readonly bytes: number };
}

/** Returns the number in the name of a file of a log; undefined for any other name. */
export function fileNumber(name: string): number | undefined {
  const digits = auditFileForm.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function fileName(number: number): string {
  return `audit-${String(number).padStart(8, '0')}.jsonl`;
}

export function auditFile(directory: string, number: number): AuditFile {
  const name = fileName(number);
  return { name, path: join(directory, name), number };
}

/** Returns the files of a log, oldest first. */
export async function auditFiles(directory: string): Promise<AuditFile[]> {
  const names = await readdir(directory);
  return names
    .flatMap((name) => {
      const number = fileNumber(name);
      return number === undefined ? [] : [{ name, path: join(directory, name), number }];
    })
    .toSorted((left, right) => left.number - right.number);
}
