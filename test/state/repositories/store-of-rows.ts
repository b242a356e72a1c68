import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { afterAll, beforeAll } from 'vitest';
import type { StateStore } from '../../../src/state/state-store.ts';
import { StoreHere } from '../../support/store-here.ts';

/** A state store of a test file, in SQLite, with a second look at its rows. */
export interface StoreOfRows {
  readonly store: StateStore;
  /** What a query finds in the committed rows. */
  rows(query: string, ...parameters: readonly SQLInputValue[]): readonly Record<string, unknown>[];
}

/** Opens a store before the tests of a file, and removes it after them. */
export function storeOfRows(): StoreOfRows {
  let directory: string | undefined;
  let store: StateStore | undefined;
  let reader: DatabaseSync | undefined;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'signetd-rows-'));
    const path = join(directory, 'state.sqlite');
    store = await StoreHere.open(path);
    reader = new DatabaseSync(path, { readOnly: true });
  });
  afterAll(async () => {
    reader?.close();
    await store?.close();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  });
  return {
    get store() {
      if (store === undefined) throw new Error('the store is not open yet');
      return store;
    },
    rows(query, ...parameters) {
      const found = reader?.prepare(query).all(...parameters) ?? [];
      return found.map((row) => ({ ...row }));
    },
  };
}
