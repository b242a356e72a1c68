import { loadTokenConfig } from '../config/config.ts';
import { TokenClient } from '../token/client/token-client.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import { serviceKeys } from '../token/service-keys.ts';
import { TokenCrypto } from './token-crypto.ts';

export type { KeyId } from '../token/key-id.ts';
export type { KeyJournal } from '../token/key-journal.ts';
export type { TokenCrypto } from './token-crypto.ts';

/** A provider with its own connection to the token host. */
export interface OpenTokenCrypto {
  readonly crypto: TokenCrypto;
  /** Closes the connection, and ends the token host if this provider started it. */
  readonly close: () => Promise<void>;
}

/** Log of the connection: the token host started, ended, or could not be reached. */
export interface ConnectionLog {
  info(message: string): void;
  error(message: string): void;
}

/**
 * Opens the WebCrypto provider on the token described by the `token` section of a configuration
 * file (docs/webcrypto.md).
 * @throws ConfigError for an invalid file; TokenUnavailable if the token host is not available
 *   within 30 s
 */
export async function openTokenCrypto(configPath: string, journal: KeyJournal, log: ConnectionLog): Promise<OpenTokenCrypto> {
  const token = new TokenClient(loadTokenConfig(configPath), configPath, log);
  try {
    await token.start();
  } catch (error) {
    await token.stop();
    throw error;
  }
  return { crypto: new TokenCrypto(serviceKeys(token, token.messages), journal), close: async () => token.stop() };
}
