import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { loadConfig } from '../../config/config.ts';
import { giveRootMadeFiles } from '../../service/root-made-files.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { writeDraft } from './draft.ts';
import { reasonLines } from './journal.ts';
import { run, tryRun, writeOwned } from './machine.ts';
import { places, ports, users } from './places.ts';
import { shareFiles } from './shared-files.ts';
import type { Step } from './step.ts';

const readySeconds = 120;
const pollMs = 500;
const units = ['signetd-token.service', 'signetd.service'] as const;

/** Puts the configuration in its place; from then on the units can start. */
export const configurationStep: Step = {
  name: 'configuration',
  title: `Writing ${places.configuration}`,
  async run({ progress }) {
    const draft = writeDraft(progress, existsSync(places.revocationLists));
    loadConfig(draft);
    for (const directory of [places.pki, places.tls]) shareFiles(directory);
    writeOwned(places.configuration, readFileSync(draft), 0o640, users.service);
    chmodSync('/etc/signetd', 0o750);
    return Promise.resolve(undefined);
  },
};

/** Enables and starts the units, and waits until the service is ready. */
export const startStep: Step = {
  name: 'start',
  title: 'Starting signetd',
  async run({ progress }) {
    giveRootMadeFiles(places.state);
    const since = Date.now();
    run('systemctl', ['daemon-reload']);
    // A first boot may have enabled it, and signetd refuses a socket without a listener for it.
    run('systemctl', [progress.answers.publicUrl === '' ? 'disable' : 'enable', '--now', 'signetd-public.socket']);
    const { status, output } = tryRun('systemctl', ['enable', '--now', ...units]);
    if (status !== 0) throw notStarted(output, since);
    await untilReady(since);
    return undefined;
  },
};

async function untilReady(since: number): Promise<void> {
  const deadline = Date.now() + readySeconds * 1000;
  for (;;) {
    const { isReady, text } = await readiness();
    if (isReady) return;
    if (Date.now() > deadline) throw notStarted(`signetd is not ready after ${readySeconds} s: ${text}`, since);
    await delay(pollMs);
  }
}

/** Asks the operations listener. */
async function readiness(): Promise<{ readonly isReady: boolean; readonly text: string }> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port: ports.operations, path: '/health/ready', timeout: 5000 }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        resolve({ isReady: response.statusCode === 200, text });
      });
    });
    request.on('timeout', () => {
      request.destroy(new Error('no answer'));
    });
    request.on('error', (error) => {
      resolve({ isReady: false, text: error.message });
    });
  });
}

/** The reason, with the lines of the journal about this start. */
function notStarted(reason: string, since: number): CommandError {
  const journal = units.flatMap((unit) => {
    const told = reasonLines(unit, since);
    return told.length === 0 ? [] : [`${unit}:`, ...told.map((line) => `  ${line}`)];
  });
  const lines = [reason, ...journal, 'mend the cause, then run signetctl setup again: it goes on from here'];
  return new CommandError(exitCodes.faultFound, lines.join('\n'));
}
