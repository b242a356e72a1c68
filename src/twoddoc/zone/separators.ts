/** Separators of a code (ANTS 2D-Doc v3.2.6, §3.4). */

/** Ends a value of variable length that is shorter than its maximum. */
export const groupSeparator = '\u001d';
/** Ends a value that was cut. */
export const recordSeparator = '\u001e';
