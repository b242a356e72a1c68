import { native } from './native.ts';

/** Returns the uid of a user. @throws {Error} if there is no user of this name */
export function userNumber(account: string | number): number {
  return typeof account === 'number' ? account : found(native().userNumber(account), `there is no user "${account}"`);
}

/** Returns the gid of a group. @throws {Error} if there is no group of this name */
export function groupNumber(account: string | number): number {
  return typeof account === 'number' ? account : found(native().groupNumber(account), `there is no group "${account}"`);
}

function found(number: number | undefined, otherwise: string): number {
  if (number === undefined) throw new Error(otherwise);
  return number;
}
