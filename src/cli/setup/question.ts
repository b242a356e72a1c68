const questionIds = [
  'token',
  'profile',
  'module',
  'label',
  'moduleEnvironment',
  'hsmAddress',
  'hsmDevice',
  'hsmGroup',
  'hsmWrites',
  'hsmExecutableMemory',
  'state',
  'stateHost',
  'stateDatabase',
  'stateUser',
  'organization',
  'country',
  'authority',
  'publicUrl',
  'host',
  'server',
  'clients',
  'tenant',
  'keyType',
  'client',
  'roles',
  'clientDirectory',
] as const;
export type QuestionId = (typeof questionIds)[number];

/** An answer to each question; empty if it does not apply, or if nothing is wanted. */
export type Answers = Readonly<Record<QuestionId, string>>;

export interface Question {
  readonly id: QuestionId;
  /** Option of the command line. */
  readonly flag: string;
  /** Help of the option, and the question of the dialogue. */
  readonly text: string;
  /** Permitted answers. */
  readonly choices?: readonly string[];
  /** Undefined: there is none, and without an answer setup does not begin. */
  fallback(given: Partial<Answers>): string | undefined;
  /** Whether it applies, after the answers before it. */
  applies(given: Partial<Answers>): boolean;
  /** Whether an answer is meant in capital letters. */
  readonly capital?: boolean;
  /** Returns why an answer cannot be used. */
  fault(answer: string): string | undefined;
  /** Returns what this machine lacks for an answer. */
  readonly lack?: (answer: string) => string | undefined;
}

/** The fallback of a question, whatever was answered before. */
export const fallbackTo = (answer: string | undefined) => (): string | undefined => answer;

/** The fault of an answer that does not have this form. */
export const matching =
  (pattern: RegExp, message: string) =>
  (answer: string): string | undefined =>
    pattern.test(answer) ? undefined : message;

/** The permitted answers of a question, and the fault of any other. */
export const oneOf = (choices: readonly string[]): Pick<Question, 'choices' | 'fault'> => ({
  choices,
  fault: (answer) => (choices.includes(answer) ? undefined : `one of ${choices.join(', ')}`),
});

/** The fault of a list with commas, of which an item is bad, or which is empty. */
export const each =
  (isGood: (item: string) => boolean, message: string) =>
  (answer: string): string | undefined =>
    listOf(answer).every(isGood) && answer !== '' ? undefined : message;

/** Returns the items of a comma-separated answer. */
export function listOf(answer: string): string[] {
  return answer
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
