import { afterAll, beforeAll } from 'vitest';
import { TokenClient } from '../../src/token/client/token-client.ts';
import type { KeyId } from '../../src/token/key-id.ts';
import type { KeyJournal } from '../../src/token/key-journal.ts';
import { serviceKeys } from '../../src/token/service-keys.ts';
import { TokenCrypto } from '../../src/webcrypto/token-crypto.ts';
import { recordingLog } from '../support/silent-log.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';

export interface ScratchProvider {
  readonly scratch: ScratchToken;
  readonly token: TokenClient;
  readonly crypto: TokenCrypto;
  readonly journal: MemoryJournal;
}

/** A provider on a SoftHSM token of its own, from the first test of a file to the last. */
export function scratchProvider(settings: Record<string, string | number> = {}): () => ScratchProvider {
  let provider: ScratchProvider | undefined;
  beforeAll(async () => {
    const scratch = scratchToken(settings);
    const token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
    await token.start();
    const journal = memoryJournal();
    provider = { scratch, token, journal, crypto: new TokenCrypto(serviceKeys(token, token.messages), journal) };
  });
  afterAll(async () => {
    await provider?.token.stop();
    provider?.scratch.remove();
  });
  return () => {
    if (provider === undefined) throw new Error('the provider is there once the tests run');
    return provider;
  };
}

type MemoryJournal = KeyJournal & { readonly entries: ReadonlyMap<KeyId, string> };

/** A journal for tests that need no durable one; it keeps to the rule that a step is announced once. */
export function memoryJournal(): MemoryJournal {
  const entries = new Map<KeyId, string>();
  return {
    entries,
    async announce(id, intent) {
      if (entries.has(id)) return Promise.reject(new Error(`${id} is announced already`));
      entries.set(id, intent);
      return Promise.resolve();
    },
    async settle(id) {
      entries.delete(id);
      return Promise.resolve();
    },
  };
}
