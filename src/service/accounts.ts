import { native } from './native.ts';

/** The number of a user of the machine. @throws {Error} if there is none of the name */
export function userNumber(account: string | number): number {
  return typeof account === 'number' ? account : found(native().userNumber(account), `there is no user "${account}"`);
}

/** The number of a group of the machine. @throws {Error} if there is none of the name */
export function groupNumber(account: string | number): number {
  return typeof account === 'number' ? account : found(native().groupNumber(account), `there is no group "${account}"`);
}

function found(number: number | undefined, otherwise: string): number {
  if (number === undefined) throw new Error(otherwise);
  return number;
}
