import { AnswersView } from '../admin/views.ts';
import type { Outcome } from './outcome.ts';
import { ask } from './service.ts';
import { fields } from './table.ts';

/** `answers status` */
export async function answersStatus(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'answers status' }, AnswersView);
  return { json: result, text: textOf(result), notes };
}

/** `answers rotate` */
export async function answersRotate(configPath: string): Promise<Outcome> {
  const { result } = await ask(configPath, { command: 'answers rotate' }, AnswersView);
  return {
    json: result,
    text: `Made another key of kept answers.\n${textOf(result)}`,
    notes: ['back up the token; the service destroys the former key once all that it sealed has ended'],
  };
}

function textOf({ current, former }: AnswersView): string {
  return fields([
    ['current key', `${current.keyId}, since ${current.since}`],
    ...former.map((key) => ['former key', formerWords(key)] as const),
  ]);
}

function formerWords({ keyId, since, answers, sessions, lastEnds }: AnswersView['current']): string {
  const left = lastEnds === null ? 'nothing is left' : `${answers} answers and ${sessions} sessions are left, the last until ${lastEnds}`;
  return `${keyId}, replaced at ${since}: ${left}`;
}
