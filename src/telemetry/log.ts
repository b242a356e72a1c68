import winston from 'winston';
import { currentRequest } from './current-request.ts';
import { withPriority } from './journal-priority.ts';

/** The log. Never pass it a secret, a document or an OTP. */
export interface Logger {
  error(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  debug(message: string, fields?: Record<string, unknown>): void;
}

/** A log whose level can be changed. */
export interface LeveledLog extends Logger {
  setLevel(level: string): void;
}

/**
 * Creates a log that writes JSON lines to standard output; under systemd with a priority prefix.
 */
export function createLog(level: string): LeveledLog {
  const { combine, timestamp, printf } = winston.format;
  const line = printf(({ timestamp: time, level: name, message, ...fields }) => {
    return withPriority(name, JSON.stringify({ time, level: name, message, ...fields }));
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
