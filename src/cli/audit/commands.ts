import { type Command, Option } from 'commander';
import { NoOptions, type Runs } from '../runs.ts';

/** `signetctl audit …` */
export function addAuditCommands(program: Command, runs: Runs): void {
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
      .option(
        '--also <config...>',
        'configurations of other daemons that share the token host: their logs are verified too, and count for the account',
      )
      .option('--no-account', 'do not compare with the account of uses')
      .option(
        '--explained <chain:line...>',
        'uses without a record that have been explained, as named by an earlier run; also a list such as 0:748,0:749',
      )
      .option('--recent-seconds <seconds>', 'only count uses of the last seconds, whose records may still be missing', '30'),
    async () => import('./verify.ts'),
    ({ VerifyOptions, auditVerify }) => [VerifyOptions, auditVerify],
  );
  runs(
    audit
      .command('tail')
      .description('print the last records')
      .option('--directory <directory>', 'directory of the log, instead of the configured one')
      .option('--lines <count>', 'number of records', '20')
      .option('--follow', 'keep printing new records until interrupted'),
    async () => import('./tail.ts'),
    ({ TailOptions, auditTail }) => [TailOptions, auditTail],
  );
  runs(
    audit
      .command('find')
      .description('find records, such as why a request was refused')
      .argument('[request]', "identifier of the request: the service's (X-Request-Id) or the caller's own (requestID)")
      .option('--key <reference>', 'records of this key')
      .option('--client <name>', 'records of this client')
      .option('--tenant <tenant>', 'records of this tenant')
      .option('--since <time>', 'records from this time on')
      .option('--until <time>', 'records before this time')
      .option('--outcome <outcome>', 'success, refused, a result such as 2/202, or a status such as 503')
      .option('--lines <count>', 'most records to print, the newest', '100')
      .option('--directory <directory>', 'directory of the log, instead of the configured one'),
    async () => import('./find.ts'),
    ({ FindOptions, auditFind }) => [FindOptions, auditFind],
  );
  runs(
    audit
      .command('export')
      .description('export records as CSV or JSON lines, or whole files as a bundle that can be verified anywhere')
      .addOption(new Option('--format <format>', 'form of the export').choices(['csv', 'jsonl', 'bundle']).makeOptionMandatory())
      .option('--output <file>', 'new file, mode 0600; default for csv and jsonl: standard output')
      .option('--since <time>', 'records from this time on; a bundle begins with the file that has them')
      .option('--until <time>', 'records before this time; a bundle ends with the first checkpoint after it')
      .option('--request <id>', "csv and jsonl: only records of the request with this identifier, the service's or the caller's")
      .option('--key <reference>', 'csv and jsonl: only records of this key')
      .option('--client <name>', 'csv and jsonl: only records of this client')
      .option('--tenant <tenant>', 'csv and jsonl: only records of this tenant')
      .option('--outcome <outcome>', 'csv and jsonl: success, refused, a result such as 2/202, or a status such as 503')
      .option('--directory <directory>', 'directory of the log, instead of the configured one'),
    async () => import('./export.ts'),
    ({ ExportOptions, auditExport }) => [ExportOptions, auditExport],
  );
  runs(
    audit
      .command('prune')
      .description('remove old files of the log; the removal is recorded, and the rest can still be verified')
      .requiredOption('--before <time>', 'remove files with only records from before this time, at least audit.retentionDaysMin days ago')
      .requiredOption('--confirm', 'confirm that the records are no longer needed, or are archived'),
    async () => import('./prune.ts'),
    ({ PruneOptions, auditPrune }) => [PruneOptions, auditPrune],
  );
  runs(
    audit.command('rotate-key').description('make another key for checkpoints, which the former one signs before it is destroyed'),
    async () => import('./rotate-key.ts'),
    ({ auditRotateKey }) => [NoOptions, auditRotateKey],
  );
}
