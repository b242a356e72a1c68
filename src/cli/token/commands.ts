import { type Command, Option } from 'commander';
import { assignablePurposes } from '../../token/wire/messages.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { NoOptions, type Runs } from '../runs.ts';

/** `signetctl token …` */
export function addTokenCommands(program: Command, runs: Runs): void {
  const token = program.command('token').description('manage the PKCS#11 token');
  runs(
    token.command('slots').description('list slots and their tokens'),
    async () => import('./slots.ts'),
    ({ tokenSlots }) => [NoOptions, tokenSlots],
  );
  runs(
    token
      .command('mechanisms')
      .description('list the mechanisms of the token and which of them signetd needs')
      .addOption(slotOption('use this slot instead of the configured token')),
    async () => import('./mechanisms.ts'),
    ({ MechanismsOptions, tokenMechanisms }) => [MechanismsOptions, tokenMechanisms],
  );
  runs(
    token.command('inventory').description("list signetd's keys on the token; other objects are only counted"),
    async () => import('./inventory.ts'),
    ({ tokenInventory }) => [NoOptions, tokenInventory],
  );
  runs(
    token
      .command('purpose')
      .description('assign a purpose to a key of an earlier version: a CA or the time-stamp authority')
      .requiredOption('--key-id <id>', 'CKA_ID of the key, which begins with 53')
      .requiredOption('--purpose <purpose>', assignablePurposes.join(', ')),
    async () => import('./purpose.ts'),
    ({ PurposeOptions, tokenPurpose }) => [PurposeOptions, tokenPurpose],
  );
  runs(
    token
      .command('change-pin')
      .description('change the user PIN on the token and where it is stored; only while signetd is stopped')
      .option('--new-pin <reference>', 'file:<path> or credential:<name> of the new PIN; to finish an interrupted change: none')
      .option('--credential-key <key>', 'what encrypts a stored credential: auto, host, tpm2 or host+tpm2', 'auto'),
    async () => import('./change-pin.ts'),
    ({ ChangePinOptions, tokenChangePin }) => [ChangePinOptions, tokenChangePin],
  );
  runs(
    token
      .command('destroy-key')
      .description('destroy the key of a former CA or time-stamp authority, which the configuration no longer names')
      .requiredOption('--key-id <id>', 'CKA_ID of the key, as printed by signetctl token inventory'),
    async () => import('./destroy-key.ts'),
    ({ DestroyKeyOptions, tokenDestroyKey }) => [DestroyKeyOptions, tokenDestroyKey],
  );
  runs(
    token
      .command('probe')
      .description('check that module and token support what signetd needs')
      .option('--full', 'make and try keys of every type; only while signetd is stopped'),
    async () => import('./probe.ts'),
    ({ ProbeOptions, tokenProbe }) => [ProbeOptions, tokenProbe],
  );
  runs(
    token
      .command('accept')
      .description('let state store and audit log go on with another token; only while signetd is stopped')
      .requiredOption('--label <label>', 'label of the new token, as signetctl token slots shows it')
      .requiredOption('--serial <number>', 'its serial number'),
    async () => import('./accept.ts'),
    ({ AcceptOptions, tokenAccept }) => [AcceptOptions, tokenAccept],
  );
  runs(
    token.command('retry-pin').description('let the token host try once more a PIN that the token refused'),
    async () => import('./retry-pin.ts'),
    ({ tokenRetryPin }) => [NoOptions, tokenRetryPin],
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
    async () => import('./init.ts'),
    ({ InitOptions, tokenInit }) => [InitOptions, tokenInit],
  );
}

function slotOption(description: string): Option {
  return new Option('--slot <number>', description).argParser((text: string) => {
    if (!/^\d{1,20}$/.test(text))
      throw new CommandError(exitCodes.usage, '--slot takes a decimal number, as signetctl token slots shows it');
    return text;
  });
}
