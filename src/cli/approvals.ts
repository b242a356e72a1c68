import { constants } from 'node:os';
import { z } from 'zod';
import { NotRunning } from '../admin/ask.ts';
import { AdminRequest } from '../admin/protocol.ts';
import { PendingView } from '../admin/views.ts';
import { loadAdminConfig } from '../config/config.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { printsJson, type Outcome } from './outcome.ts';
import { answerOf, type Answered } from './service.ts';
import { printable } from './printable.ts';
import { fields } from './table.ts';
import { askLine, Interrupted, isTerminal } from './terminal.ts';

/** `approvals`: the commands that wait for a second user. */
export async function listApprovals(configPath: string): Promise<Outcome> {
  const { result, notes } = await pending(configPath);
  const text = result.length === 0 ? 'No command waits for approval.\n' : result.map(inWords).join('\n');
  return { json: result, text, notes };
}

export const DecisionOptions = z.object({ id: z.string(), digest: z.string().optional() });
type DecisionOptions = z.output<typeof DecisionOptions>;

/** `approve`: lets a command of another user be carried out, after showing it. */
export async function approve(configPath: string, options: DecisionOptions): Promise<Outcome> {
  return decide(configPath, 'approve', options);
}

/** `refuse`: ends a command of another user. */
export async function refuse(configPath: string, options: DecisionOptions): Promise<Outcome> {
  return decide(configPath, 'refuse', options);
}

async function decide(configPath: string, command: 'approve' | 'refuse', { id, digest }: DecisionOptions): Promise<Outcome> {
  const { result: all } = await pending(configPath);
  const found = all.find((one) => one.id === id);
  if (found === undefined) throw new CommandError(exitCodes.refused, `no request ${id} waits for approval; see signetctl approvals`);
  if (digest === undefined) await confirmed(found, command);
  const parsed = AdminRequest.safeParse({ command, id, digest: digest ?? found.digest });
  if (!parsed.success) throw new CommandError(exitCodes.usage, '--digest takes the 64 hexadecimal digits that signetctl approvals shows');
  const { result, notes } = await ask(configPath, parsed.data, PendingView);
  return { json: result, text: `Request ${id} is ${command === 'approve' ? 'approved' : 'refused'}.\n`, notes };
}

/**
 * Shows the request and asks for a yes.
 * @throws {CommandError} without one, or without a terminal
 */
async function confirmed(found: PendingView, command: 'approve' | 'refuse'): Promise<void> {
  // Nobody decides about a request that they do not see: it is shown where the question is.
  if (!isTerminal() || printsJson()) {
    throw new CommandError(exitCodes.usage, 'this is no terminal to confirm at: look at signetctl approvals, and give --digest');
  }
  process.stderr.write(`${inWords(found)}\n`);
  let answer: string;
  try {
    answer = await askLine(`${command === 'approve' ? 'Approve' : 'Refuse'} this? (yes or no)`);
  } catch (error) {
    if (error instanceof Interrupted) throw new CommandError(128 + constants.signals.SIGINT, 'interrupted: nothing was decided');
    throw error;
  }
  if (answer !== 'yes') throw new CommandError(exitCodes.refused, 'nothing was decided: the answer was not yes');
}

function inWords({ id, command, uid, details, since, until, digest }: PendingView): string {
  return fields([
    ['request', id],
    ['command', `${command}, given by user ${uid} at ${since}; waits until ${until}`],
    ...details.map(([label, value]) => [`  ${printable(label)}`, printable(value)] as const),
    ['digest', digest],
  ]);
}

async function pending(configPath: string): Promise<Answered<PendingView[]>> {
  return ask(configPath, { command: 'approvals' }, z.array(PendingView));
}

/** @throws {CommandError} also if no command needs an approval */
async function ask<T>(configPath: string, request: AdminRequest, schema: z.ZodType<T>): Promise<Answered<T>> {
  try {
    return await answerOf(configPath, request, schema, 'approvals');
  } catch (error) {
    if (!(error instanceof NotRunning)) throw error;
    if (loadAdminConfig(configPath).approvals === 1)
      throw new CommandError(exitCodes.refused, 'no command waits for approval, since admin.approvals is 1');
    throw new CommandError(exitCodes.serviceUnreachable, `${error.message}; start it first`);
  }
}
