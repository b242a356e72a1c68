import { join } from 'node:path';
import type { StateStore } from '../../src/state/state-store.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { scratchToken } from './scratch-token.ts';
import { recordingLog } from './silent-log.ts';

/** What keys need: a token of its own, which is started, and a state store beside it. */
export interface TokenAndStore {
  readonly token: TokenClient;
  readonly store: StateStore;
  /** Of the files of both. */
  readonly directory: string;
  end(): Promise<void>;
}

/** `servesOperator`: the host signs certificates of authorities. */
export async function tokenAndStore({ servesOperator = false } = {}): Promise<TokenAndStore> {
  const scratch = scratchToken();
  const token = new TokenClient(scratch.config, scratch.configPath, recordingLog(), () => undefined, { servesOperator });
  await token.start();
  const store = await openSqliteStore(join(scratch.directory, 'state.sqlite'));
  return {
    token,
    store,
    directory: scratch.directory,
    end: async () => {
      await token.stop();
      await store.close();
      scratch.remove();
    },
  };
}
