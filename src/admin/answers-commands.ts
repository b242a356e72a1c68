import type { Audit } from '../audit/audit.ts';
import type { AdministrationEntry } from '../audit/record.ts';
import type { AnswerKeys, AnswerKeyView } from '../idempotency/answer-keys.ts';
import type { Done } from './protocol.ts';
import type { AnswersView } from './views.ts';

export interface AnswersCommands {
  readonly audit: Audit;
  readonly answerKeys: Pick<AnswerKeys, 'rotate' | 'views'>;
}

/** Makes another key of kept answers and sessions. */
export async function rotateAnswers(context: AnswersCommands, entry: AdministrationEntry): Promise<Done> {
  return context.audit.administer(entry, async () => {
    await context.answerKeys.rotate();
    return { value: { result: await answersView(context) } };
  });
}

/** Which keys of kept answers there are, and what they have sealed. */
export async function answersView({ answerKeys }: Pick<AnswersCommands, 'answerKeys'>): Promise<AnswersView> {
  const [current, ...former] = (await answerKeys.views()).map(viewOf);
  if (current === undefined) throw new Error('the key of kept answers was made');
  return { current, former };
}

function viewOf({ keyId, since, answers, sessions, lastEnds }: AnswerKeyView): AnswersView['current'] {
  const timeOf = (time: number): string => new Date(time).toISOString();
  return { keyId, since: timeOf(since), answers, sessions, lastEnds: lastEnds === undefined ? null : timeOf(lastEnds) };
}
