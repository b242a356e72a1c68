/** Thrown for a faulty configuration, with a message for the operator: one line for each fault. */
export class ConfigError extends Error {}
