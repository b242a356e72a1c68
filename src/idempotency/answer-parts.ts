import type { StateStore } from '../state/state-store.ts';
import type { KeptAnswerRow } from '../state/tables/kept-answers.ts';
import { bytesOf, formIn, partsOf } from './answer-bytes.ts';
import type { AnswerForm } from './answer-form.ts';
import type { RequestSecrets } from './request-secrets.ts';

/** What is encrypted at a time, and what one statement carries: neither the event loop nor another commit waits long for it. */
const partBytes = 1 << 20;

/** What a kept answer takes beside its own bytes, about: its row, and the index entries of it. */
const rowBytes = 512;

/** Where an answer is: in its row, or in parts beside it; and what it takes of the store. */
export type Placed = Pick<KeptAnswerRow, 'answer' | 'parts' | 'bytes'>;

/**
 * Encrypts an answer. A large one is stored ahead of the commit that keeps it, in parts that nobody sees before. They are in the state store: every
 * instance reads them.
 */
export async function placed(store: StateStore, secrets: RequestSecrets, claim: string, form: AnswerForm): Promise<Placed> {
  const { id } = secrets;
  const pieces = bytesOf(form);
  const isLarge = pieces.reduce((sum, { length }) => sum + length, 0) > partBytes;
  let answer: Uint8Array | null = null;
  let bytes = rowBytes;
  let part = 0;
  for (const plain of partsOf(pieces, partBytes)) {
    const sealed = await secrets.seal(plain, part);
    if (isLarge) await store.run('addAnswerPart', { id, claim, part, bytes: sealed });
    else answer = sealed;
    bytes += sealed.length;
    part += 1;
  }
  return { answer, parts: isLarge ? claim : null, bytes };
}

/** The answer of a row that has one. @throws {Error} where it is not the answer to this request */
export async function readAnswer(
  store: StateStore,
  secrets: RequestSecrets,
  row: Pick<KeptAnswerRow, 'answer' | 'parts'>,
): Promise<AnswerForm> {
  return formIn(openedParts(store, secrets, row));
}

async function* openedParts(
  store: StateStore,
  secrets: RequestSecrets,
  { answer, parts }: Pick<KeptAnswerRow, 'answer' | 'parts'>,
): AsyncGenerator<Uint8Array> {
  if (answer !== null) {
    yield await secrets.open(answer, 0);
    return;
  }
  if (parts === null) throw new Error('a kept answer that is nowhere');
  for (let part = 0; ; part += 1) {
    const sealed = await store.run('findAnswerPart', { id: secrets.id, claim: parts, part });
    if (sealed === undefined) return;
    yield await secrets.open(sealed, part);
  }
}
