/** Seconds, from 100 µs, doubling 15 times: a token in memory and a slow HSM on the network fit the same buckets. */
export const durationBuckets: number[] = Array.from({ length: 16 }, (_, power) => 1e-4 * 2 ** power);
