import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A message received by a stand-in (contract §11). */
export interface OutboxMessage {
  readonly channel: 'email' | 'sms';
  readonly to: string;
  readonly text: string;
}

/**
 * Writes one message to a new file, whose name sorts by time and which appears only when complete.
 * Returns the file's name.
 */
export function putIntoOutbox(directory: string, { channel, to, text }: OutboxMessage): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const name = `${new Date().toISOString().replaceAll(/[:.]/g, '-')}-${randomUUID()}.json`;
  const unfinished = join(directory, `.${name}.part`);
  writeFileSync(unfinished, `${JSON.stringify({ channel, to, text })}\n`, { mode: 0o600 });
  renameSync(unfinished, join(directory, name));
  return name;
}
