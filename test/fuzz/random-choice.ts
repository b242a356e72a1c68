/** A function that makes numbers from 0 to 1, 1 excluded. */
export type RandomNumber = () => number;

/** Returns one element of a list that is not empty. */
export function pick<T>(list: readonly T[], random: RandomNumber): T {
  return list[Math.floor(random() * list.length)] as T;
}
