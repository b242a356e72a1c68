import { chmodSync, chownSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { groupNumber } from '../../service/native.ts';
import { users } from './places.ts';
import type { Answers } from './question.ts';

/** Lets the service read the files of a directory, and only root change them. */
export function shareFiles(directory: string): void {
  for (const name of readdirSync(directory)) {
    chownSync(join(directory, name), 0, groupNumber(users.service));
    chmodSync(join(directory, name), 0o640);
  }
}

export function publicUrlOf({ publicUrl }: Answers): { readonly publicUrl?: string } {
  return publicUrl === '' ? {} : { publicUrl };
}
