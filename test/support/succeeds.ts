import { expect } from 'vitest';
import { codeOf, messageOf, type ApiAnswer } from './api.ts';

/** Expects the answer of a success, and returns it. */
export function succeeds(answer: ApiAnswer): ApiAnswer {
  expect([codeOf(answer), messageOf(answer)]).toEqual(['0/0', 'success']);
  return answer;
}
