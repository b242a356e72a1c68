/** The levels of a baseline signature. */
export const levels = ['B', 'T', 'LT', 'LTA'] as const;
export type Level = (typeof levels)[number];

/** The fields that ask for a level. */
export function levelFields(level: Level): object {
  if (level === 'B') return {};
  if (level === 'T') return { timeStamp: {} };
  return { timeStamp: {}, longTermValidation: { archiveTimeStamp: level === 'LTA' } };
}
