import winston from 'winston';
import { currentRequest } from './current-request.ts';

/** The log. Never pass it a secret, a document or an OTP. */
export interface Logger {
  error(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  debug(message: string, fields?: Record<string, unknown>): void;
}

/** Priorities of sd-daemon(3), which the journal reads from the start of a line. */
const priorities: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** A log whose level can be changed. */
export interface LeveledLog extends Logger {
  setLevel(level: string): void;
}

/**
 * Creates a log that writes JSON lines to standard output; under systemd with a priority prefix.
 */
export function createLog(level: string): LeveledLog {
  const underSystemd = process.env['JOURNAL_STREAM'] !== undefined;
  const { combine, timestamp, printf } = winston.format;
  const line = printf(({ timestamp: time, level: name, message, ...fields }) => {
    const text = JSON.stringify({ time, level: name, message, ...fields });
    return underSystemd ? `<${priorities[name] ?? 6}>${text}` : text;
  });
  const logger = winston.createLogger({ level, format: combine(timestamp(), line), transports: [new winston.transports.Console()] });
  const write =
    (name: string) =>
    (message: string, fields: Record<string, unknown> = {}): void => {
      // winston formats a line before it checks the level.
      if (logger.isLevelEnabled(name)) logger.log({ ...currentRequest()?.logged, ...fields, level: name, message });
    };
  return {
    error: write('error'),
    warn: write('warn'),
    info: write('info'),
    debug: write('debug'),
    setLevel: (name) => void (logger.level = name),
  };
}
