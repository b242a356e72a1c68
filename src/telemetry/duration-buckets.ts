/** Seconds, from 100 µs, doubling 15 times: for in-memory tokens as well as slow network HSMs. */
export const durationBuckets: number[] = Array.from({ length: 16 }, (_, power) => 1e-4 * 2 ** power);
