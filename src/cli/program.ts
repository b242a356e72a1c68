import { Command, CommanderError } from 'commander';
import type { z } from 'zod';
import { ConfigError } from '../config/config-error.ts';
import { StoreNotOpened, StoreUnavailable } from '../state/store-unavailable.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { TokenFailure } from '../token/operator/token-failure.ts';
import { addAuditCommands } from './audit/commands.ts';
import { thisBuild } from './build.ts';
import { addBackupCommands } from './backup/commands.ts';
import { addCaCommands } from './ca/commands.ts';
import { NoOptions, type Runs } from './runs.ts';
import { addClientCommands } from './clients/commands.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { addHelpTexts } from './help-texts.ts';
import { addKeyCommands } from './key-commands.ts';
import { addAnswersCommands } from './answers-commands.ts';
import { addMacCommands } from './mac-commands.ts';
import { printAsJson, printFailure, printOutcome, printsJson } from './outcome.ts';
import { addSetupCommands } from './setup/commands.ts';
import { addTokenCommands } from './token/commands.ts';
import { addTsaCommands } from './tsa/commands.ts';
import { addTwoDDocCommands } from './twoddoc/commands.ts';

interface GlobalOptions {
  readonly config: string;
}

/** Runs one command line (without the program's own name) and returns the exit code. */
export async function signetctl(args: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const end = args.indexOf('--');
  // Also in force for faults of the command line itself, which is not parsed yet.
  printAsJson((end < 0 ? args : args.slice(0, end)).includes('--json'));
  const program = programOf((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    return failed(error);
  }
}

/**
 * Returns the tree of all commands.
 * @param end receives the exit code of the command that was run
 */
export function programOf(end: (exitCode: number) => void): Command {
  const program = new Command('signetctl')
    .description('Administers signetd and its token.')
    .option('--config <file>', 'configuration file of signetd', '/etc/signetd/signetd.yaml')
    .option('--json', 'print results, notes and errors as JSON', false)
    .option('--version', 'print the versions of signetctl and Node, and the build')
    .exitOverride()
    // Faults of the command line are printed as all others are.
    .configureOutput({ outputError: () => undefined, ...(printsJson() ? { writeErr: () => undefined } : {}) })
    .on('option:version', () => {
      const { version, node, build } = thisBuild();
      printOutcome({ json: { version, node, build }, text: `signetctl ${version} (Node ${node}, build ${build})\n` });
      throw new CommanderError(exitCodes.ok, 'commander.version', version);
    });

  const runs: Runs = (command, load, actionOf) => {
    command.action(async () => {
      const { config } = command.optsWithGlobals<GlobalOptions>();
      const [options, run] = actionOf(await load());
      const operands = command.registeredArguments.map((operand, index) => [operand.name(), command.args[index]] as const);
      const parsed = options.safeParse({ ...command.opts(), ...Object.fromEntries(operands) });
      if (!parsed.success) throw new CommandError(exitCodes.usage, parsed.error.issues.map(optionFault).join('\n'));
      end(printOutcome(await run(config, parsed.data)));
    });
  };

  addServiceCommands(program, runs);
  addApprovalCommands(program, runs);
  addSetupCommands(program, runs);
  addClientCommands(program, runs);
  addKeyCommands(program, runs);
  addClockCommands(program, runs);
  addMacCommands(program, runs);
  addAnswersCommands(program, runs);
  addStateCommands(program, runs);
  addTokenCommands(program, runs);
  addCaCommands(program, runs);
  addTsaCommands(program, runs);
  addTwoDDocCommands(program, runs);
  addBackupCommands(program, runs);
  addConfigCommands(program, runs);
  addAuditCommands(program, runs);
  addHelpTexts(program);
  return program;
}

/** The commands about the service as a whole. */
function addServiceCommands(program: Command, runs: Runs): void {
  runs(
    program.command('status').description('show the state of signetd'),
    async () => import('./status.ts'),
    ({ status }) => [NoOptions, status],
  );
  runs(
    program.command('console').description('print a link that signs you in to the operator console'),
    async () => import('./console.ts'),
    ({ openConsole }) => [NoOptions, openConsole],
  );
  runs(
    program.command('doctor').description('diagnose problems and suggest fixes'),
    async () => import('./doctor/doctor.ts'),
    ({ doctor }) => [NoOptions, doctor],
  );
  runs(
    program.command('reload').description('reload the configuration, entirely or not at all'),
    async () => import('./status.ts'),
    ({ reload }) => [NoOptions, reload],
  );
}

/** `signetctl clock …` */
function addClockCommands(program: Command, runs: Runs): void {
  const clock = program.command('clock').description('answer for the clock of the machine');
  runs(
    clock.command('confirm').description('let a waiting service go on with a clock that is behind the newest audit record'),
    async () => import('./clock.ts'),
    ({ clockConfirm }) => [NoOptions, clockConfirm],
  );
}

/** The commands of the user who approves those of others. */
function addApprovalCommands(program: Command, runs: Runs): void {
  const digest = ['--digest <digest>', 'decide without a question, if the request has this digest (64 hexadecimal digits)'] as const;
  runs(
    program.command('approvals').description('list the commands that wait for a second user'),
    async () => import('./approvals.ts'),
    ({ listApprovals }) => [NoOptions, listApprovals],
  );
  runs(
    program
      .command('approve')
      .description('approve a command of another user, after showing it')
      .argument('<id>', 'id of the request')
      .option(...digest),
    async () => import('./approvals.ts'),
    ({ DecisionOptions, approve }) => [DecisionOptions, approve],
  );
  runs(
    program
      .command('refuse')
      .description('refuse a command of another user, after showing it')
      .argument('<id>', 'id of the request')
      .option(...digest),
    async () => import('./approvals.ts'),
    ({ DecisionOptions, refuse }) => [DecisionOptions, refuse],
  );
}

/** `signetctl state …` */
function addStateCommands(program: Command, runs: Runs): void {
  const state = program.command('state').description('compare the state store with the audit log; copy it');
  runs(
    state.command('compare').description('check whether the state store has every change in the audit log'),
    async () => import('./state.ts'),
    ({ stateCompare }) => [NoOptions, stateCompare],
  );
  runs(
    state
      .command('confirm')
      .description('accept a state store that is older than the audit log; later revocations and removals are applied again'),
    async () => import('./state.ts'),
    ({ stateConfirm }) => [NoOptions, stateConfirm],
  );
  runs(
    state
      .command('copy')
      .description('copy the state store of the stopped service to an empty one, such as from SQLite to PostgreSQL')
      .requiredOption('--to <file>', 'configuration file whose section state names the target'),
    async () => import('./state-copy.ts'),
    ({ StateCopyOptions, stateCopy }) => [StateCopyOptions, stateCopy],
  );
}

/** `signetctl config …` */
function addConfigCommands(program: Command, runs: Runs): void {
  const config = program.command('config').description('check the configuration');
  runs(
    config.command('check').description('report every fault of the configuration'),
    async () => import('./config/check.ts'),
    ({ configCheck }) => [NoOptions, configCheck],
  );
}

/** Prints an error and returns the exit code. */
function failed(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.ok;
    // Help was printed instead of an error, since a command lacks its subcommand.
    if (error.code === 'commander.help') return printsJson() ? printFailure(exitCodes.usage, ['a subcommand is missing']) : exitCodes.usage;
    return printFailure(exitCodes.usage, [usageFault(error.message)]);
  }
  const [exitCode, message] = explain(error);
  return printFailure(exitCode, message.split('\n'));
}

/** Names the option as it is typed. */
function optionFault({ path, message }: z.core.$ZodIssue): string {
  const name = String(path[0] ?? '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${name}: ${message}`;
}

/** Puts commander's message and its suggestion on one line. */
function usageFault(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (?<names>.*)\?\)$/, '; did you mean $<names>?')
    .replaceAll('\n', ' ');
}

function explain(error: unknown): readonly [number, string] {
  if (error instanceof CommandError) return [error.exitCode, error.message];
  if (error instanceof ConfigError) return [exitCodes.configuration, error.message];
  if (error instanceof TokenFailure) {
    const codes = {
      unreachable: exitCodes.tokenUnreachable,
      pinRefused: exitCodes.pinRefused,
      refused: exitCodes.refused,
      configuration: exitCodes.configuration,
    } as const;
    return [codes[error.kind], error.message];
  }
  if (error instanceof StoreNotOpened) return [exitCodes.refused, `the state store cannot be opened: ${error.message}`];
  if (error instanceof StoreUnavailable) return [exitCodes.refused, error.message];
  return [exitCodes.internalError, `internal error: ${reasonOf(error)}`];
}
