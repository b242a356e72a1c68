import { partBytes } from '../sealed-parts/cut.ts';
import { SealedParts, sealedParts } from '../sealed-parts/sealed-parts.ts';
import type { StateStore } from '../state/state-store.ts';
import type { KeptAnswerRow } from '../state/tables/kept-answers.ts';
import { bytesOf, formIn } from './answer-bytes.ts';
import type { AnswerForm } from './answer-form.ts';
import type { RequestSecrets } from './request-secrets.ts';

/** Approximate size of a kept answer beside its own bytes: its row and its index entries. */
const rowBytes = 512;

/** Location of an answer, in its row or in separate parts, and its size in the store. */
export type Placed = Pick<KeptAnswerRow, 'answer' | 'parts' | 'bytes'>;

/**
 * Encrypts an answer. A large one is stored before the commit that keeps it, in parts that are not
 * visible until then.
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

/**
 * Reads the answer of a row that has one.
 * @throws {Error} if it is not the answer to this request
 */
export async function readAnswer(
  store: StateStore,
  { id, cipher }: RequestSecrets,
  { answer, parts }: Pick<KeptAnswerRow, 'answer' | 'parts'>,
): Promise<AnswerForm> {
  if (answer !== null) return formIn([(await cipher.open({ item: 0, part: 0 }, answer)).bytes]);
  if (parts === null) throw new Error('a kept answer has no contents');
  return formIn(new SealedParts(store, { kind: 'answer', id, claim: parts }, cipher).open(0));
}
