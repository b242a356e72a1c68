import { moduleFile } from '../../config/module-file.ts';
import { contentBytes } from '../../documents/content-pieces.ts';
import type { InputDocument } from '../../documents/document.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import { hashContent } from '../hash-content.ts';

/** A document and the hash that it is digested with; one that is given as a digest has its own. */
export interface DigestTask {
  readonly source: InputDocument['source'];
  readonly hash: HashName;
}

/** Content from here on is hashed outside of the event loop; files always are. */
const bigContentBytes = 256 * 1024;
const thread = moduleFile('./document-digests-thread', import.meta.url);

/** The digests of documents whose signer nobody knows. @throws {Fault} CONTENT_CHANGED for a file that has become shorter */
export async function documentDigests(tasks: readonly DigestTask[], threads: WorkThreads): Promise<readonly Uint8Array[]> {
  const contents = tasks.flatMap(({ source }) => ('content' in source ? [source.content] : []));
  const areInMemory = contents.every((content) => content instanceof Uint8Array);
  const bytes = contents.reduce((total, content) => total + contentBytes(content), 0);
  return areInMemory && bytes <= bigContentBytes ? digestsOf({ tasks }) : threads.run(thread, 'digestsOf', { tasks });
}

export function digestsOf({ tasks }: { readonly tasks: readonly DigestTask[] }): readonly Uint8Array[] {
  return tasks.map(({ source, hash }) => ('digest' in source ? source.digest.value : hashContent(hash, source.content)));
}
