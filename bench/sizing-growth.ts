import { randomUUID } from 'node:crypto';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { KeepAliveClient, type KeyReference } from './keep-alive-client.ts';
import type { Quickstart } from './quickstart-description.ts';
import { deleteStored, upload } from './stored-file.ts';

const many = 500;
const connections = 8;
const storedBytes = 10_000_000;
const document = Buffer.alloc(768, 'a document ').toString('base64');
const rawSignature = { rawSignature: {} };
const cades = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } };

/** Bytes by which a state store grows. */
export interface StoreGrowth {
  /** For each key with its certificate. */
  readonly key: number;
  /** For each kept answer of a raw signature, and of a CAdES signature with its certificates. */
  readonly keptRaw: number;
  readonly keptCades: number;
}

/** Returns the growth of a store, whose size `bytes` tells, by the requests of a client. */
export async function storeGrowth(quickstart: Quickstart, bytes: () => number | Promise<number>): Promise<StoreGrowth> {
  const client = new KeepAliveClient(quickstart, quickstart.clients.other, connections);
  try {
    const keyReference = await client.create('PASSWORD');
    const kept = async (parameters: object): Promise<number> => {
      const sign = async (headers: Readonly<Record<string, string>>): Promise<void> => signed(client, keyReference, parameters, headers);
      await sign({});
      return each(bytes, async () => sign({ 'Idempotency-Key': randomUUID() }));
    };
    return {
      key: await each(bytes, async () => client.create('PASSWORD')),
      keptRaw: await kept(rawSignature),
      keptCades: await kept(cades),
    };
  } finally {
    client.close();
  }
}

async function signed(
  client: KeepAliveClient,
  keyReference: KeyReference,
  parameters: object,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const body = { keyReference, parameters, inputDocuments: [{ ID: 'd', base64Data: { base64Value: document } }] };
  const { result } = await client.call('signature/sign', body, headers);
  if (result.resultMajor !== 0) throw new Error(`a signature was answered ${JSON.stringify(result)}`);
}

async function each(bytes: () => number | Promise<number>, work: () => Promise<unknown>): Promise<number> {
  const before = await bytes();
  let left = many;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left > 0) {
        left -= 1;
        await work();
      }
    }),
  );
  return ((await bytes()) - before) / many;
}

/** Bytes in use of the SQLite database of a service that runs: its pages, and those that wait in its log. */
export function sqliteBytes(service: string): number {
  const database = new DatabaseSync(join(service, 'state.sqlite'), { readOnly: true, timeout: 10_000 });
  try {
    const pragma = (name: string): number => Number(Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0]);
    return (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
  } finally {
    database.close();
  }
}

/** Returns the bytes on the disk for each byte of a document in the transfer store. */
export async function storedBytesEach(quickstart: Quickstart, service: string, scratch: string): Promise<number> {
  if (quickstart.ftmRoot === undefined) throw new Error('the quickstart has no transfer store');
  const path = join(scratch, 'stored');
  writeFileSync(path, Buffer.alloc(storedBytes, 'signetd'));
  const files = join(service, 'files');
  const before = allocatedBytes(files);
  const { fileID } = await upload(quickstart, quickstart.ftmRoot, path);
  const after = allocatedBytes(files);
  await deleteStored(quickstart, quickstart.ftmRoot, fileID);
  return (after - before) / storedBytes;
}

/** `blocks` has units of 512 octets (stat(2)). */
function allocatedBytes(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).blocks * 512, 0);
}
