import type { IncomingMessage } from 'node:http';
import type { Problem } from '../problem.ts';

const broken = new WeakMap<IncomingMessage, Problem>();
/** The event of a request that tells of it. */
const event = Symbol('broken');

/** Tells who reads the body that no more of it will come, and why; at once where that is known already. */
export function onBroken(request: IncomingMessage, listener: (problem: Problem) => void): void {
  const problem = broken.get(request);
  if (problem === undefined) request.once(event, listener);
  else listener(problem);
}

export function breakRequest(request: IncomingMessage, problem: Problem): void {
  broken.set(request, problem);
  request.emit(event, problem);
}
