import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Answers, Question, QuestionId } from './question.ts';
import { questions } from './questions.ts';
import { askLine, say } from '../terminal.ts';

type Given = Partial<Record<QuestionId, string | undefined>>;

/**
 * Returns an answer to each question: from the options, from an earlier run, from the operator, or
 * its default.
 * @param given by options @param known of an earlier run, which options must not contradict
 * @throws {CommandError} for answers that cannot be used, and for missing ones if nobody is asked
 */
export async function answersOf(given: Given, known: Answers | undefined, asks: boolean): Promise<Answers> {
  const answers: Partial<Record<QuestionId, string>> = {};
  const faults: string[] = [];
  for (const question of questions) {
    const option = given[question.id];
    if (!question.applies(answers)) {
      if (option !== undefined) faults.push(`${flagOf(question)} does not apply here`);
      answers[question.id] = '';
      continue;
    }
    const fault = option === undefined ? undefined : question.fault(option);
    if (fault !== undefined) faults.push(`${flagOf(question)} takes ${fault}`);
    else if (known !== undefined && option !== undefined && option !== known[question.id]) {
      faults.push(`${flagOf(question)}: setup began with "${known[question.id]}": go on with it, or begin anew with --start-over`);
    }
    const answer = option ?? known?.[question.id] ?? (asks ? await asked(question, answers) : question.fallback(answers));
    if (answer === undefined) faults.push(`${flagOf(question)} is missing: ${question.text}`);
    answers[question.id] = answer ?? '';
  }
  if (faults.length > 0) throw new CommandError(exitCodes.usage, faults.join('\n'));
  return answersIn(answers);
}

/** @throws {CommandError} if this machine lacks something that the answers need */
export function checkLacks(answers: Answers): void {
  const lacks = questions.flatMap(({ id, lack }) => lack?.(answers[id]) ?? []);
  if (lacks.length > 0) throw new CommandError(exitCodes.refused, lacks.join('\n'));
}

/** Asks until the answer can be used; an empty one is the default. */
async function asked(question: Question, before: Partial<Answers>): Promise<string> {
  const fallback = question.fallback(before);
  const hint = fallback === undefined || fallback === '' ? '' : ` [${fallback}]`;
  for (;;) {
    const typed = await askLine(`${question.text}${hint}:`);
    const line = question.capital === true ? typed.toUpperCase() : typed;
    const answer = line === '' && fallback !== undefined ? fallback : line;
    const fault = question.fault(answer);
    const lack = question.lack?.(answer);
    if (fault === undefined && lack === undefined) return answer;
    say(fault === undefined ? `  ${lack}.` : `  It takes ${fault}.`);
  }
}

/** Returns the answers in a record, such as one that an earlier run noted. */
export function answersIn(record: Readonly<Partial<Record<string, string>>>): Answers {
  const all = new Map(Object.entries(record));
  return Object.fromEntries(questions.map(({ id }) => [id, all.get(id) ?? ''])) as Record<QuestionId, string>;
}

/** The option alone, such as `--token`. */
function flagOf({ flag }: Question): string {
  return flag.split(' ')[0] ?? flag;
}
