/** Maximum number of parts of a request that are worked on at the same time. */
const atOnceMax = 8;

/** Maps a list with few calls at a time; no call begins after one has failed. */
export async function mapSome<T, R>(list: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const entries = list.entries();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (const [index, one] of entries) {
      if (hasFailed) return;
      try {
        results[index] = await work(one);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, list.length) }, worker));
  return results;
}
