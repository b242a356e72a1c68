import { partBytes } from '../sealed-parts/cut.ts';
import { SealedParts, sealedParts } from '../sealed-parts/sealed-parts.ts';
import type { StateStore } from '../state/state-store.ts';
import type { KeptAnswerRow } from '../state/tables/kept-answers.ts';
import { bytesOf, formIn } from './answer-bytes.ts';
import type { AnswerForm } from './answer-form.ts';
import type { RequestSecrets } from './request-secrets.ts';

/** What a kept answer takes beside its own bytes, about: its row, and the index entries of it. */
const rowBytes = 512;

/** Where an answer is: in its row, or in parts beside it; and what it takes of the store. */
export type Placed = Pick<KeptAnswerRow, 'answer' | 'parts' | 'bytes'>;

/**
 * Encrypts an answer. A large one is stored ahead of the commit that keeps it, in parts that nobody
 * sees before.
 */
export async function placed(store: StateStore, { id, cipher }: RequestSecrets, claim: string, form: AnswerForm): Promise<Placed> {
  const parts = new SealedParts(store, { kind: 'answer', id, claim }, cipher);
  const pieces = bytesOf(form);
  const isLarge = pieces.reduce((sum, { length }) => sum + length, 0) > partBytes;
  let answer: Uint8Array | null = null;
  let bytes = rowBytes;
  for await (const sealed of sealedParts(cipher, 0, pieces)) {
    if (isLarge) await parts.add(sealed);
    else answer = sealed.bytes;
    bytes += sealed.bytes.length;
  }
  return { answer, parts: isLarge ? claim : null, bytes };
}

/** The answer of a row that has one. @throws {Error} if it is not the answer to this request */
export async function readAnswer(
  store: StateStore,
  { id, cipher }: RequestSecrets,
  { answer, parts }: Pick<KeptAnswerRow, 'answer' | 'parts'>,
): Promise<AnswerForm> {
  if (answer !== null) return formIn([(await cipher.open({ item: 0, part: 0 }, answer)).bytes]);
  if (parts === null) throw new Error('a kept answer that is nowhere');
  return formIn(new SealedParts(store, { kind: 'answer', id, claim: parts }, cipher).open(0));
}
