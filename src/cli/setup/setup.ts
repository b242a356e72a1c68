import { existsSync, readdirSync, renameSync } from 'node:fs';
import { z } from 'zod';
import { listenFault } from '../../service/listen-fault.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { answersIn, answersOf, checkLacks } from './answers.ts';
import { authorityStep } from './authority-step.ts';
import { clientFile, clientFilesThere, clientStep, registrationStep } from './client-steps.ts';
import { credentialKeys } from './credentials.ts';
import { signFirstDocument, type FirstSignature } from './first-signature.ts';
import { isActive, tryRun } from './machine.ts';
import { places, ports } from './places.ts';
import { planOf } from './plan.ts';
import { earlierProgress, forgetProgress, SetupProgress } from './progress.ts';
import type { Answers, QuestionId } from './question.ts';
import { questions } from './questions.ts';
import { serverStep } from './server-step.ts';
import { configurationStep, startStep } from './service-steps.ts';
import { checkDatabase } from './state-database.ts';
import type { RunOptions, Step } from './step.ts';
import { askLine, Interrupted, isTerminal, say } from '../terminal.ts';
import { tlsAuthorityStep } from './tls-authority-step.ts';
import { directoriesStep, hasState, moduleStep, pinStep, tokenStep } from './token-steps.ts';

const text = z.string().optional();
const files = z.array(z.string()).default([]);
const answerOptions = Object.fromEntries(questions.map(({ id }) => [id, text])) as Record<QuestionId, typeof text>;

export const SetupOptions = z.object({
  ...answerOptions,
  ...{ pinFile: text, caCertificate: text, caChain: files, serverCertificate: text, serverKey: text, serverCa: text },
  ...{ clientCa: text, clientCrl: files, clientCertificate: text, clientKey: text },
  credentialKey: z.enum(credentialKeys, { error: `--credential-key takes one of ${credentialKeys.join(', ')}` }),
  unattended: z.boolean().default(false),
  yes: z.boolean().default(false),
  planOnly: z.boolean().default(false),
  overwrite: z.boolean().default(false),
  startOver: z.boolean().default(false),
  container: text,
});
type SetupOptions = z.output<typeof SetupOptions>;

const preparing: readonly Step[] = [directoriesStep, moduleStep, pinStep, tokenStep];
/** Each of them may wait for something from outside, without holding up the others. */
const certifying: readonly Step[] = [authorityStep, tlsAuthorityStep, serverStep, clientStep];
const starting: readonly Step[] = [configurationStep, startStep, registrationStep];

/**
 * `setup`: from an installed package to a first signature. It may be run again until it is done.
 */
export async function setup(_configPath: string, options: SetupOptions): Promise<Outcome> {
  try {
    return await prepared(options);
  } catch (error) {
    if (error instanceof Interrupted) throw new CommandError(exitCodes.refused, 'interrupted; run signetctl setup again to go on');
    throw error;
  }
}

async function prepared(options: SetupOptions): Promise<Outcome> {
  const asks = !options.unattended && isTerminal();
  if (!asks && !options.unattended && !options.planOnly)
    throw new CommandError(exitCodes.usage, 'there is no terminal to ask on: give every answer as an option, and --unattended');
  if (options.container !== undefined) {
    if (options.planOnly)
      throw new CommandError(exitCodes.usage, '--plan-only is not for --container, which changes nothing outside of its directory');
    const { containerSetup } = await import('./container.ts');
    return containerSetup(options.container, await answersOf(options, undefined, asks), options.pinFile);
  }
  checkMachine();
  if (options.startOver) forgetProgress();
  const earlier = earlierProgress();
  if (earlier === undefined) await checkFresh(options);
  const known = earlier === undefined ? undefined : answersIn(earlier.answers);
  const answers = await answersOf(options, known, asks);
  if (earlier === undefined) checkClientFiles(answers, options);
  if (!options.planOnly) checkLacks(answers);
  if (earlier === undefined && !options.planOnly) await checkDatabase(answers);
  const progress = new SetupProgress(answers, earlier ?? { answers: { ...answers }, done: [] });
  say(earlier === undefined ? 'Setup will' : 'Setup goes on with what is not done yet. As a whole it will');
  planOf(answers).forEach((line, index) => {
    say(`  ${index + 1}. ${line}`);
  });
  if (options.planOnly) return { json: { plan: planOf(answers) }, text: '' };
  if (asks && !options.yes && !/^y(es)?$/i.test(await askLine('Go on? [y/N]')))
    throw new CommandError(exitCodes.refused, 'nothing was changed');
  if (earlier === undefined) {
    if (options.overwrite && existsSync(places.configuration)) keepOldConfiguration();
    progress.keep({});
  }
  return carriedOut(progress, { ...options, asks });
}

async function carriedOut(progress: SetupProgress, options: RunOptions): Promise<Outcome> {
  const context = { progress, options };
  const waits: string[] = [];
  const run = async (step: Step): Promise<void> => {
    if (progress.isDone(step.name)) return;
    say(`${step.title} …`);
    const waiting = await step.run(context);
    if (waiting === undefined) progress.finish(step.name);
    else waits.push(waiting.waits);
  };
  for (const step of [...preparing, ...certifying]) await run(step);
  if (waits.length > 0) {
    return {
      json: { waitsFor: waits },
      text: 'Setup is not finished. What is done stays; the next run goes on.\n',
      faults: waits.map((wait) => `setup waits for ${wait}`),
      faultCode: exitCodes.waiting,
    };
  }
  for (const step of starting) await run(step);
  const first = existsSync(clientFile(progress.answers, 'key')) ? await firstSignature(progress) : undefined;
  forgetProgress();
  return finished(progress, first);
}

async function firstSignature(progress: SetupProgress): Promise<FirstSignature> {
  say('Signing a first document …');
  return signFirstDocument(progress);
}

function finished({ answers }: SetupProgress, first: FirstSignature | undefined): Outcome {
  const paths = {
    configuration: places.configuration,
    'client certificate': clientFile(answers, 'pem'),
    ...(first === undefined ? {} : { 'client key': clientFile(answers, 'key') }),
    ...(answers.clients === 'own'
      ? { 'PKCS #12': clientFile(answers, 'p12'), 'password of PKCS #12': clientFile(answers, 'p12.password') }
      : {}),
    ...(first === undefined ? {} : { 'first signature': `${first.signature} (${first.verdict})` }),
  };
  const again =
    first === undefined
      ? ''
      : `\nTo sign the document again, until the key's certificate ends on ${first.keyEnds.toISOString()}:\n\n${first.curl}\n`;
  return {
    json: { ...paths, ...(first === undefined ? {} : { curl: first.curl, keyEnds: first.keyEnds.toISOString() }) },
    text: `signetd is set up and ready.\n${fields(Object.entries(paths))}${again}`,
    notes: [
      ...(answers.token === 'softhsm' ? ['the keys are in a software token: for trials only'] : []),
      ...(answers.clients === 'own' ? ['signetctl client issue issues the certificates of further clients'] : []),
    ],
  };
}

/** @throws {CommandError} if signetd cannot be set up on this machine by this user */
function checkMachine(): void {
  const refuse = (message: string): never => {
    throw new CommandError(exitCodes.refused, message);
  };
  if (process.geteuid?.() !== 0) refuse('run it as root, such as with sudo');
  if (!existsSync('/run/systemd/system'))
    refuse('this machine does not run systemd, whose units setup starts: see docs/installing-by-hand.md');
  for (const unit of ['signetd.service', 'signetd-token.service']) {
    if (tryRun('systemctl', ['cat', unit]).status !== 0) refuse(`${unit} is not installed: install the package first`);
  }
  for (const program of ['systemd-creds', 'openssl']) {
    if (tryRun(program, [program === 'openssl' ? 'version' : '--version']).status !== 0) refuse(`${program} is not installed`);
  }
}

/** @throws {CommandError} if there is something that setup would overwrite */
async function checkFresh({ overwrite, planOnly }: SetupOptions): Promise<void> {
  const faults: string[] = [];
  for (const unit of ['signetd.service', 'signetd-token.service'])
    if (isActive(unit)) faults.push(`${unit} is running: signetd is set up already`);
  if (existsSync(places.configuration) && !overwrite)
    faults.push(`${places.configuration} exists: --overwrite replaces it, and keeps it under another name`);
  if (hasState()) faults.push(`${places.database} has data of an earlier installation: setup is for new ones`);
  for (const directory of [places.pki, places.tls])
    if (existsSync(directory) && readdirSync(directory).length > 0) faults.push(`${directory} is not empty: move its files away`);
  if (faults.length === 0 && !planOnly) {
    for (const [port, host] of [
      [ports.api, '0.0.0.0'],
      [ports.operations, '127.0.0.1'],
    ] as const)
      if ((await listenFault(host, port)) !== undefined) faults.push(`port ${port} is taken by another program`);
  }
  if (faults.length > 0) throw new CommandError(exitCodes.refused, faults.join('\n'));
}

/** @throws {CommandError} if setup would overwrite files of the first client */
function checkClientFiles(answers: Answers, { clientCertificate, clientKey }: SetupOptions): void {
  const there = clientFilesThere(answers, [clientCertificate, clientKey]);
  if (there.length === 0) return;
  const faults = there.map((path) => `${path} exists, and setup overwrites nothing: move it away, or choose another --client-directory`);
  throw new CommandError(exitCodes.refused, faults.join('\n'));
}

function keepOldConfiguration(): void {
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '');
  const kept = `${places.configuration}.before-setup-${stamp}`;
  renameSync(places.configuration, kept);
  say(`The old configuration is kept as ${kept}.`);
}
