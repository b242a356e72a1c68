import { createHash } from 'node:crypto';
import { ZodError } from 'zod';
import { BackupFault, readEncrypted, type BackupFile } from './encrypted-file.ts';
import { Manifest, manifestName } from './manifest.ts';
import { TarFault } from '../tar/header.ts';
import { readTar } from '../tar/read-tar.ts';

/** No text is longer. */
const manifestMaxBytes = 500_000_000;
/** Each takes many times its size in memory. For hundreds of thousands of parts, which have nine. */
const manifestValuesMax = 8_000_000;
const valueStarts: ReadonlySet<number> = new Set(Buffer.from('[{,'));

/** Takes the content of a part, if it wants it. What it leaves is read all the same. */
export type TakePart = (name: string, content: AsyncIterable<Uint8Array>) => Promise<void>;

interface Seen {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Reads a backup to its end and checks that its parts are those of its manifest.
 * @param take is given each part before the manifest confirms it
 * @param progress receives the bytes read so far
 * @throws {BackupFault}
 */
export async function readBackup(backup: BackupFile, take: TakePart, progress: (bytes: number) => void): Promise<Manifest> {
  const { path } = backup;
  const seen = new Map<string, Seen>();
  let manifest: Manifest | undefined;
  let total = 0;
  try {
    for await (const { name, bytes, content } of readTar(readEncrypted(backup))) {
      if (manifest !== undefined) throw new BackupFault(`${path}: ${name} follows the manifest`);
      if (name === manifestName) {
        manifest = await readManifest(path, bytes, content);
        continue;
      }
      if (seen.has(name)) throw new BackupFault(`${path}: ${name} is there twice`);
      const digest = createHash('sha256');
      const observed = observe(content, (chunk) => {
        digest.update(chunk);
        total += chunk.length;
        progress(total);
      });
      await take(name, observed);
      for await (const chunk of observed) void chunk;
      seen.set(name, { bytes, sha256: digest.digest('hex') });
    }
  } catch (error) {
    if (error instanceof TarFault) throw new BackupFault(`${path}: ${error.message}`, { cause: error });
    throw error;
  }
  if (manifest === undefined) throw new BackupFault(`${path}: there is no manifest: this is not a backup of signetd`);
  checkParts(path, manifest, seen);
  return manifest;
}

async function readManifest(path: string, bytes: number, content: AsyncIterable<Uint8Array>): Promise<Manifest> {
  if (bytes > manifestMaxBytes) throw new BackupFault(`${path}: the manifest is too long`);
  const chunks: Uint8Array[] = [];
  let values = 0;
  for await (const chunk of content) {
    for (const byte of chunk) if (valueStarts.has(byte)) values += 1;
    if (values > manifestValuesMax) throw new BackupFault(`${path}: the manifest has too many values`);
    chunks.push(chunk);
  }
  try {
    return Manifest.parse(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  } catch (error) {
    throw new BackupFault(`${path}: the manifest is not one that this version understands${placeOf(error)}`, { cause: error });
  }
}

/** The first fault, by the member that has it. */
function placeOf(error: unknown): string {
  const issue = error instanceof ZodError ? error.issues[0] : undefined;
  return issue === undefined ? '' : ` (${issue.path.join('.')}: ${issue.message})`;
}

function checkParts(path: string, { parts }: Manifest, seen: ReadonlyMap<string, Seen>): void {
  for (const { name, bytes, sha256 } of parts) {
    const found = seen.get(name);
    if (found === undefined) throw new BackupFault(`${path}: ${name} is missing`);
    if (found.bytes !== bytes || found.sha256 !== sha256) throw new BackupFault(`${path}: ${name} is not the file that the manifest names`);
  }
  const names = new Set(parts.map(({ name }) => name));
  if (names.size !== parts.length) throw new BackupFault(`${path}: the manifest names a file twice`);
  for (const name of seen.keys()) if (!names.has(name)) throw new BackupFault(`${path}: the manifest does not name ${name}`);
}

async function* observe(content: AsyncIterable<Uint8Array>, see: (chunk: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    see(chunk);
    yield chunk;
  }
}
