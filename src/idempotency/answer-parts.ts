import type { KeptAnswerRow } from '../state/schema.ts';
import type { StateStore } from '../state/state-store.ts';

/** What one statement carries: no other commit waits long for it. */
const partBytes = 1 << 20;

/** Where an answer is: in its row, or in parts beside it. */
export type Placed = Pick<KeptAnswerRow, 'answer' | 'parts'>;

/** Stores a large answer ahead of the commit that keeps it, in parts that nobody sees before. They are in the state store: every instance reads them. */
export async function placed(store: StateStore, id: string, claim: string, sealed: Uint8Array): Promise<Placed> {
  if (sealed.length <= partBytes) return { answer: sealed, parts: null };
  for (let part = 0; part * partBytes < sealed.length; part += 1) {
    await store.run('addAnswerPart', { id, claim, part, bytes: sealed.slice(part * partBytes, (part + 1) * partBytes) });
  }
  return { answer: null, parts: claim };
}

/** The answer of a row that has one. */
export async function sealedAnswer(store: StateStore, { id, answer, parts }: Pick<KeptAnswerRow, 'id'> & Placed): Promise<Uint8Array> {
  if (answer !== null) return answer;
  if (parts === null) throw new Error('a kept answer that is nowhere');
  const found: Uint8Array[] = [];
  for (let part = 0; ; part += 1) {
    const bytes = await store.run('findAnswerPart', { id, claim: parts, part });
    if (bytes === undefined) return Buffer.concat(found);
    found.push(bytes);
  }
}
