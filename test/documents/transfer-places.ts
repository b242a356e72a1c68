import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ObjectStore } from '../support/object-store.ts';

/** A place for the content of files: what a configuration says of it, and what is really there. */
export interface TransferPlace {
  start(): Promise<void>;
  /** Members of the configuration. */
  settings(): Record<string, unknown>;
  /** The directory that has the content, under its identifiers. */
  readonly directory: string;
  /** Whether nothing is on its way on this machine. */
  isSpoolEmpty(): boolean;
  stop(): Promise<void>;
}

function directoryPlace(): TransferPlace {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-files-'));
  return {
    directory,
    start: async () => Promise.resolve(),
    settings: () => ({ directory }),
    isSpoolEmpty: () => true,
    stop: async () => {
      rmSync(directory, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

function bucketPlace(): TransferPlace & { readonly server: ObjectStore } {
  const spool = mkdtempSync(join(tmpdir(), 'signetd-spool-'));
  let server: ObjectStore | undefined;
  const started = (): ObjectStore => {
    if (server === undefined) throw new Error('the object store is not started');
    return server;
  };
  return {
    get server() {
      return started();
    },
    get directory() {
      return started().directory;
    },
    async start() {
      server = await ObjectStore.start();
    },
    settings: () => ({ directory: spool, s3: started().config }),
    isSpoolEmpty: () => readdirSync(spool).length === 0,
    async stop() {
      await server?.remove();
      rmSync(spool, { recursive: true, force: true });
    },
  };
}

/** One suite runs against both. */
export const transferPlaces = { directory: directoryPlace, bucket: bucketPlace };

/** Names in the directory of a place. A bucket without objects has none. */
export function namesIn({ directory }: TransferPlace): string[] {
  return existsSync(directory) ? readdirSync(directory).toSorted() : [];
}

/** Puts a file there that the service did not. */
export function putInto({ directory }: TransferPlace, name: string, content = ''): string {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), content);
  return join(directory, name);
}
