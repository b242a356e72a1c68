import { expect, it } from 'vitest';
import { answered } from '../../src/admin/answered.ts';
import { NotWritable } from '../../src/audit/group-writer.ts';
import { Refusal } from '../../src/result-codes.ts';
import { TokenUnavailable } from '../../src/token/token.ts';
import { recordingLog } from '../support/silent-log.ts';

const lookingCommands = [
  ...(['client list', 'client list revoked', 'key list', 'key show', 'pool list', 'identity list', 'mac status'] as const),
  ...(['answers status', 'state compare', 'status', 'backup create', 'record use'] as const),
];

it.each([
  [
    new TokenUnavailable('another host made a MAC key'),
    'another host made a MAC key; it is not certain that nothing was changed: check before you repeat the command',
  ],
  [new TokenUnavailable('the token host has ended', { nothingDone: true }), 'nothing was done: the token host has ended'],
])('a command that the token does not serve fails in words: %s', async (fault, words) => {
  const answer = await answered('mac rotate', recordingLog(), async () => Promise.reject(fault));
  expect(answer).toEqual({ outcome: 'failed', faults: [words] });
});

const unwritten = 'the audit log cannot be written';
it.each([
  // Before anything began.
  ['mac rotate', new NotWritable('ENOSPC'), `nothing was done: ${unwritten}; see signetctl status`],
  ['client list', new NotWritable('ENOSPC'), `nothing was done: ${unwritten}; see signetctl status`],
  // Its record could not be written.
  [
    'mac rotate',
    new Refusal('STORE_FULL', { message: unwritten }),
    `${unwritten}; it is not certain that nothing was changed: check before you repeat the command`,
  ],
  ...lookingCommands.map(
    (command) => [command, new Refusal('STORE_FULL', { message: unwritten }), `${unwritten}; nothing was changed`] as const,
  ),
] as const)('%s says what it has changed if it cannot be recorded: %s', async (command, fault, words) => {
  const answer = await answered(command, recordingLog(), async () => Promise.reject(fault));
  expect(answer).toEqual({ outcome: 'failed', faults: [words] });
});
