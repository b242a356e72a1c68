/** Priorities of sd-daemon(3), which the journal reads from the start of a line. */
const priorities = { error: 3, warn: 4, info: 6, debug: 7 } as const;

/** Returns a text with its priority at the start of each line; as it is, if not under systemd. */
export function withPriority(level: string, text: string): string {
  if (process.env['JOURNAL_STREAM'] === undefined) return text;
  const priority = new Map<string, number>(Object.entries(priorities)).get(level) ?? priorities.info;
  return text.replaceAll(/^/gm, `<${priority}>`);
}
