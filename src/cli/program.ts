import { Command, CommanderError, Option } from 'commander';
import { z } from 'zod';
import { roles } from '../clients/caller.ts';
import { ConfigError } from '../config/config-error.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { TokenFailure } from '../token/operator/token-failure.ts';
import { assignablePurposes } from '../token/wire/messages.ts';
import { thisBuild } from './build.ts';
import { addBackupCommands } from './backup/commands.ts';
import { addCaCommands, type Runs } from './ca/commands.ts';
import { addClientCertificateCommands } from './clients/commands.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { addHelpTexts } from './help-texts.ts';
import { printAsJson, printFailure, printOutcome, printsJson, type Outcome } from './outcome.ts';
import { addSetupCommands } from './setup/commands.ts';
import { addTsaCommands } from './tsa/commands.ts';
import { addTwoDDocCommands } from './twoddoc/commands.ts';

interface GlobalOptions {
  readonly config: string;
}

const NoOptions = z.object({});

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

  /** The same for a command with one argument and no options. */
  const runsOn = <M>(
    command: Command,
    load: () => Promise<M>,
    actionOf: (module: M) => (configPath: string, argument: string) => Promise<Outcome>,
  ): void => {
    command.action(async (argument: unknown) => {
      const { config } = command.optsWithGlobals<GlobalOptions>();
      const run = actionOf(await load());
      end(printOutcome(await run(config, z.string().parse(argument))));
    });
  };

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

  addSetupCommands(program, runs);

  const client = program.command('client').description('manage the clients of the API');
  runs(
    client
      .command('add')
      .description('register the public key of a client certificate')
      .requiredOption('--certificate <file>', 'the certificate, PEM or DER')
      .requiredOption('--name <name>', 'name of the client in the audit log')
      .requiredOption('--tenant <tenant>', 'tenant whose keys it uses')
      .requiredOption('--roles <roles>', `comma-separated: ${roles.join(', ')}`)
      .option('--replace', 'replace the registration of this public key'),
    async () => import('./client.ts'),
    ({ AddOptions, clientAdd }) => [AddOptions, clientAdd],
  );
  runs(
    client.command('list').description('list the registered clients'),
    async () => import('./client.ts'),
    ({ clientList }) => [NoOptions, clientList],
  );
  runsOn(
    client
      .command('revoke')
      .description('revoke a registration; once the command returns, nothing more is signed for the client')
      .argument('<client>', 'name, or SHA-256 of the public key'),
    async () => import('./client.ts'),
    ({ clientRevoke }) => clientRevoke,
  );
  runs(
    client.command('reload').description('reload the registered clients from the state store'),
    async () => import('./client.ts'),
    ({ clientReload }) => [NoOptions, clientReload],
  );
  addClientCertificateCommands(client, runs);

  const key = program.command('key').description("manage the callers' keys");
  runs(
    key.command('list').description('list all keys with their states').option('--tenant <tenant>', 'only keys of this tenant'),
    async () => import('./key.ts'),
    ({ KeyListOptions, keyList }) => [KeyListOptions, keyList],
  );
  runsOn(
    key.command('show').description('show a key').argument('<reference>', 'its keyReference.reference'),
    async () => import('./key.ts'),
    ({ keyShow }) => keyShow,
  );
  runsOn(
    key.command('unlock').description('unlock a key and reset its attempts').argument('<reference>', 'its keyReference.reference'),
    async () => import('./key.ts'),
    ({ keyUnlock }) => keyUnlock,
  );
  runsOn(
    key
      .command('remove')
      .description('permanently destroy a private key, without its secret')
      .argument('<reference>', 'its keyReference.reference'),
    async () => import('./key.ts'),
    ({ keyRemove }) => keyRemove,
  );

  const state = program.command('state').description('compare the state store with the audit log');
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

  const token = program.command('token').description('manage the PKCS#11 token');
  runs(
    token.command('slots').description('list slots and their tokens'),
    async () => import('./token/slots.ts'),
    ({ tokenSlots }) => [NoOptions, tokenSlots],
  );
  runs(
    token
      .command('mechanisms')
      .description('list the mechanisms of the token and which of them signetd needs')
      .addOption(slotOption('use this slot instead of the configured token')),
    async () => import('./token/mechanisms.ts'),
    ({ MechanismsOptions, tokenMechanisms }) => [MechanismsOptions, tokenMechanisms],
  );
  runs(
    token.command('inventory').description("list signetd's keys on the token; other objects are only counted"),
    async () => import('./token/inventory.ts'),
    ({ tokenInventory }) => [NoOptions, tokenInventory],
  );
  runs(
    token
      .command('purpose')
      .description('assign a purpose to a key of an earlier version: a CA or the time-stamp authority')
      .requiredOption('--key-id <id>', 'CKA_ID of the key, which begins with 53')
      .requiredOption('--purpose <purpose>', assignablePurposes.join(', ')),
    async () => import('./token/purpose.ts'),
    ({ PurposeOptions, tokenPurpose }) => [PurposeOptions, tokenPurpose],
  );
  runs(
    token
      .command('probe')
      .description('check that module and token support what signetd needs')
      .option('--full', 'make and try keys of every type; only while signetd is stopped'),
    async () => import('./token/probe.ts'),
    ({ ProbeOptions, tokenProbe }) => [ProbeOptions, tokenProbe],
  );
  runs(
    token
      .command('init')
      .description('initialise a token and set its user PIN; only while signetd is stopped')
      .requiredOption('--label <label>', 'label of the token')
      .requiredOption('--so-pin <reference>', 'PIN of the security officer: file:<path> or credential:<name>')
      .requiredOption('--pin <reference>', 'PIN of signetd: file:<path> or credential:<name>')
      .addOption(slotOption('initialise the token in this slot'))
      .option('--reinitialise', 'erase an initialised token with all its keys')
      .option('--confirm <label>', 'with --reinitialise: label of the token to erase'),
    async () => import('./token/init.ts'),
    ({ InitOptions, tokenInit }) => [InitOptions, tokenInit],
  );

  addCaCommands(program, runs);
  addTsaCommands(program, runs);
  addTwoDDocCommands(program, runs);

  addBackupCommands(program, runs);

  const config = program.command('config').description('check the configuration');
  runs(
    config.command('check').description('report every fault of the configuration'),
    async () => import('./config/check.ts'),
    ({ configCheck }) => [NoOptions, configCheck],
  );

  const audit = program.command('audit').description('verify and read the audit log');
  runs(
    audit
      .command('verify')
      .description('verify the integrity of the log; report the first damaged place')
      .option('--directory <directory>', 'directory of the log, instead of the configured one')
      .option('--bundle <file>', 'a bundle of signetctl audit export instead, also from another machine')
      .option('--key-sha256 <digest...>', 'with --bundle: SHA-256 of the keys of checkpoints, as noted on the machine of the log')
      .option('--public-key <file...>', 'keys of checkpoints (PEM), instead of those in the state store, which is then not read')
      .option('--known <record:hash...>', 'records that the log must contain, from a checkpoint kept elsewhere')
      .option('--from <file>', 'begin with this file, if older ones are archived')
      .option('--account <directory>', "directory of the token host's account of uses, instead of the configured one")
      .option('--no-account', 'do not compare with the account of uses')
      .option('--explained <chain:line...>', 'uses without a record that have been explained, as named by an earlier run')
      .option('--recent-seconds <seconds>', 'only count uses of the last seconds, whose records may still be missing', '30'),
    async () => import('./audit/verify.ts'),
    ({ VerifyOptions, auditVerify }) => [VerifyOptions, auditVerify],
  );
  runs(
    audit
      .command('tail')
      .description('print the last records')
      .option('--directory <directory>', 'directory of the log, instead of the configured one')
      .option('--lines <count>', 'number of records', '20')
      .option('--follow', 'keep printing new records until interrupted'),
    async () => import('./audit/tail.ts'),
    ({ TailOptions, auditTail }) => [TailOptions, auditTail],
  );
  runs(
    audit
      .command('export')
      .description('export records as CSV or JSON lines, or whole files as a bundle that can be verified anywhere')
      .addOption(new Option('--format <format>', 'form of the export').choices(['csv', 'jsonl', 'bundle']).makeOptionMandatory())
      .option('--output <file>', 'new file, mode 0600; default for csv and jsonl: standard output')
      .option('--since <time>', 'records from this time on; a bundle begins with the file that has them')
      .option('--until <time>', 'records before this time; a bundle ends with the first checkpoint after it')
      .option('--client <name>', 'csv and jsonl: only records of this client')
      .option('--tenant <tenant>', 'csv and jsonl: only records of this tenant')
      .option('--directory <directory>', 'directory of the log, instead of the configured one'),
    async () => import('./audit/export.ts'),
    ({ ExportOptions, auditExport }) => [ExportOptions, auditExport],
  );
  runs(
    audit
      .command('prune')
      .description('remove old files of the log; the removal is recorded, and the rest can still be verified')
      .requiredOption('--before <time>', 'remove files with only records from before this time, at least audit.retentionDaysMin days ago')
      .requiredOption('--confirm', 'confirm that the records are no longer needed, or are archived'),
    async () => import('./audit/prune.ts'),
    ({ PruneOptions, auditPrune }) => [PruneOptions, auditPrune],
  );
  addHelpTexts(program);
  return program;
}

function slotOption(description: string): Option {
  return new Option('--slot <number>', description).argParser((text: string) => {
    if (!/^\d{1,20}$/.test(text))
      throw new CommandError(exitCodes.usage, '--slot takes a decimal number, as signetctl token slots shows it');
    return text;
  });
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
  return [exitCodes.internalError, `internal error: ${reasonOf(error)}`];
}
