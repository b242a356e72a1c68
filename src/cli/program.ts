import { Command, CommanderError, Option } from 'commander';
import { z } from 'zod';
import { roles } from '../clients/caller.ts';
import { ConfigError } from '../config/config.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { TokenFailure } from '../token/operator/token-failure.ts';
import { assignablePurposes } from '../token/wire/messages.ts';
import { auditTail, TailOptions } from './audit/tail.ts';
import { auditVerify, VerifyOptions } from './audit/verify.ts';
import { addCaCommands } from './ca/commands.ts';
import { AddOptions, clientAdd } from './client/add.ts';
import { clientList } from './client/list.ts';
import { clientReload } from './client/reload.ts';
import { clientRevoke } from './client/revoke.ts';
import { configCheck } from './config/check.ts';
import { doctor } from './doctor/doctor.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import { KeyListOptions, keyList } from './key/list.ts';
import { keyShow } from './key/show.ts';
import { keyRemove, keyUnlock } from './key/unlock-remove.ts';
import { complain, tell, type Outcome } from './outcome.ts';
import { reload } from './reload.ts';
import { stateCompare } from './state/compare.ts';
import { stateConfirm } from './state/confirm.ts';
import { status } from './status.ts';
import { InitOptions, tokenInit } from './token/init.ts';
import { tokenInventory } from './token/inventory.ts';
import { MechanismsOptions, tokenMechanisms } from './token/mechanisms.ts';
import { ProbeOptions, tokenProbe } from './token/probe.ts';
import { PurposeOptions, tokenPurpose } from './token/purpose.ts';
import { tokenSlots } from './token/slots.ts';
import { addTsaCommands } from './tsa/commands.ts';

interface GlobalOptions {
  readonly config: string;
  readonly json: boolean;
}

const NoOptions = z.object({});

/** Runs one command line (without the program's own name) and answers the exit code. */
export async function signetctl(args: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.good;
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

function programOf(end: (exitCode: number) => void): Command {
  const program = new Command('signetctl')
    .description('Looks after signetd and its token.')
    .option('--config <file>', 'the configuration of signetd', '/etc/signetd/signetd.yaml')
    .option('--json', 'print JSON', false)
    .exitOverride()
    .configureOutput({ outputError: (text) => complain(text.trim()) });

  /** Adds what a command runs: its own options go to it, parsed; the global ones are seen to here. */
  const runs = <S extends z.ZodType>(
    command: Command,
    options: S,
    run: (configPath: string, options: z.output<S>) => Promise<Outcome>,
  ): void => {
    command.action(async (given: unknown) => {
      const { config, json } = command.optsWithGlobals<GlobalOptions>();
      end(tell(await run(config, options.parse(given)), json));
    });
  };

  /** The same for a command with one argument and no options. */
  const runsOn = (command: Command, run: (configPath: string, argument: string) => Promise<Outcome>): void => {
    command.action(async (argument: unknown) => {
      const { config, json } = command.optsWithGlobals<GlobalOptions>();
      end(tell(await run(config, z.string().parse(argument)), json));
    });
  };

  runs(program.command('status').description('how signetd is'), NoOptions, status);
  runs(program.command('doctor').description('what is ill, and what to do about it'), NoOptions, doctor);
  runs(program.command('reload').description('take over the configuration: all of the new one, or all of the old'), NoOptions, reload);

  const client = program.command('client').description('who may call');
  runs(
    client
      .command('add')
      .description('register the public key of a client certificate')
      .requiredOption('--certificate <file>', 'the certificate, PEM or DER')
      .requiredOption('--name <name>', 'what the audit log calls the client')
      .requiredOption('--tenant <tenant>', 'the tenant whose keys it uses')
      .requiredOption('--roles <roles>', `separated by commas: ${roles.join(', ')}`)
      .option('--replace', 'change what is registered under this public key'),
    AddOptions,
    clientAdd,
  );
  runs(client.command('list').description('the registered clients'), NoOptions, clientList);
  runsOn(
    client
      .command('revoke')
      .description('end a registration; when the command returns, nothing more is signed for the client')
      .argument('<client>', 'its name, or the SHA-256 of its public key'),
    clientRevoke,
  );
  runs(client.command('reload').description('read the registered clients anew'), NoOptions, clientReload);

  const key = program.command('key').description("the callers' keys");
  runs(
    key.command('list').description('all keys, with their states').option('--tenant <tenant>', 'those of one tenant'),
    KeyListOptions,
    keyList,
  );
  runsOn(key.command('show').description('what is known of a key').argument('<reference>', 'its keyReference.reference'), keyShow);
  runsOn(
    key.command('unlock').description('give a locked key all its attempts again').argument('<reference>', 'its keyReference.reference'),
    keyUnlock,
  );
  runsOn(
    key
      .command('remove')
      .description('destroy a private key for good, without its secret')
      .argument('<reference>', 'its keyReference.reference'),
    keyRemove,
  );

  const state = program.command('state').description('the state store and the audit log');
  runs(state.command('compare').description('whether the state store has all that the audit log tells of'), NoOptions, stateCompare);
  runs(
    state
      .command('confirm')
      .description('go on with a state store that is older than the audit log: what was revoked and removed since is so again'),
    NoOptions,
    stateConfirm,
  );

  const token = program.command('token').description('the PKCS#11 token');
  runs(token.command('slots').description('slots and their tokens'), NoOptions, tokenSlots);
  runs(
    token
      .command('mechanisms')
      .description('what the token can do, and what of it signetd needs')
      .addOption(slotOption('of this slot, instead of the configured token')),
    MechanismsOptions,
    tokenMechanisms,
  );
  runs(token.command('inventory').description("signetd's keys on the token; objects of others are counted"), NoOptions, tokenInventory);
  runs(
    token
      .command('purpose')
      .description('say what a key is for that an earlier version made: a CA or the time-stamp authority')
      .requiredOption('--key-id <id>', 'its CKA_ID, which begins with 53')
      .requiredOption('--purpose <purpose>', assignablePurposes.join(', ')),
    PurposeOptions,
    tokenPurpose,
  );
  runs(
    token
      .command('probe')
      .description('whether module and token have what signetd needs')
      .option('--full', 'make and try keys of every type; only while signetd is stopped'),
    ProbeOptions,
    tokenProbe,
  );
  runs(
    token
      .command('init')
      .description('initialise a token and set its user PIN; only while signetd is stopped')
      .requiredOption('--label <label>', 'the label of the token')
      .requiredOption('--so-pin <reference>', "the security officer's PIN: file:<path> or credential:<name>")
      .requiredOption('--pin <reference>', "signetd's PIN: file:<path> or credential:<name>")
      .addOption(slotOption('the token in this slot'))
      .option('--reinitialise', 'erase a token that is initialised, with all its keys')
      .option('--confirm <label>', 'with --reinitialise: the label of the token that is erased'),
    InitOptions,
    tokenInit,
  );

  addCaCommands(program, runs);
  addTsaCommands(program, runs);

  const config = program.command('config').description('the configuration');
  runs(config.command('check').description('every fault of the configuration, a line each'), NoOptions, configCheck);

  const audit = program.command('audit').description('the audit log');
  runs(
    audit
      .command('verify')
      .description('whether the log is as it was written; names the first place that is not')
      .option('--directory <directory>', 'the log in this directory, instead of the configured one')
      .option('--public-key <file...>', 'keys of the checkpoints (PEM), instead of those in the state store, which is then not read')
      .option('--known <record:hash...>', 'records that the log must have, as a checkpoint that was kept elsewhere says')
      .option('--from <file>', 'begin with this file, where older ones are archived')
      .option('--account <directory>', "compare with the token host's account of uses in this directory, instead of the configured one")
      .option('--no-account', 'do not compare with it')
      .option('--explained <chain:line...>', 'uses without a record that have been looked into, as an earlier run named them')
      .option('--recent-seconds <seconds>', 'uses of the last seconds may be on their way to their record: they are counted', '30'),
    VerifyOptions,
    auditVerify,
  );
  runs(
    audit
      .command('tail')
      .description('the last records')
      .option('--directory <directory>', 'the log in this directory, instead of the configured one')
      .option('--lines <count>', 'how many', '20')
      .option('--follow', 'go on with those that come, until interrupted'),
    TailOptions,
    auditTail,
  );
  return program;
}

function slotOption(description: string): Option {
  return new Option('--slot <number>', description).argParser((text: string) => {
    if (!/^\d{1,20}$/.test(text))
      throw new CommandError(exitCodes.usage, '--slot takes a decimal number, as signetctl token slots shows it');
    return text;
  });
}

/** Says what went wrong in words, and answers the exit code. */
function failed(error: unknown): number {
  // commander has said it already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.good : exitCodes.usage;
  const [exitCode, message] = explain(error);
  complain(message);
  return exitCode;
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
  return [exitCodes.defect, `this is a defect: ${reasonOf(error)}`];
}
