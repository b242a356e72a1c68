import { createHash } from 'node:crypto';
import { moduleFile } from '../config/module-file.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { HashName } from '../token/signature-algorithm.ts';
import type { Content } from './content.ts';
import { digest } from './digest-thread.ts';

/** From here on content is hashed outside of the event loop; files always are. */
const bigBytes = 256 * 1024;
const thread = moduleFile('./digest-thread', import.meta.url);

/** The digest of content; without threads it is made here. @throws {Error} of the name ContentChanged for a file that has changed */
export async function contentDigest(content: Content, hash: HashName, threads: WorkThreads | undefined): Promise<Uint8Array> {
  if (content instanceof Uint8Array && content.length <= bigBytes) return createHash(hash).update(content).digest();
  return threads === undefined ? digest({ content, hash }) : threads.run<Uint8Array>(thread, 'digest', { content, hash });
}
