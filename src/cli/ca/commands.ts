import type { Command } from 'commander';
import type { z } from 'zod';
import type { Outcome } from '../outcome.ts';
import { caCertify, CertifyOptions } from './certify.ts';
import { caImport, ImportOptions } from './import.ts';
import { caInit, InitOptions } from './init.ts';
import { caIssue, IssueOptions } from './issue.ts';
import { caRequest, RequestOptions } from './request.ts';

/** Adds what a command runs. */
export type Runs = <S extends z.ZodType>(
  command: Command,
  options: S,
  run: (configPath: string, options: z.output<S>) => Promise<Outcome>,
) => void;

const publicUrl = ['--public-url <url>', 'address of the public listener as others reach it, such as http://pki.example.org'] as const;
const directory = ['--directory <directory>', 'where the files go; none is overwritten'] as const;

/** `signetctl ca …` */
export function addCaCommands(program: Command, runs: Runs): void {
  const ca = program.command('ca').description('certificate authorities whose keys are on the token');
  runs(
    ca
      .command('init')
      .description('make a root and an issuing CA; only while signetd is stopped')
      .requiredOption(...directory)
      .requiredOption('--country <code>', 'their country')
      .requiredOption('--organization <name>', 'their organisation')
      .option('--root-name <name>', 'common name of the root', 'Root CA')
      .option('--issuing-name <name>', 'common name of the issuing CA', 'Issuing CA')
      .option('--root <name>', 'what the configuration calls the root', 'root')
      .option('--issuing <name>', 'what the configuration calls the issuing CA', 'issuing')
      .option('--root-key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-384')
      .option('--issuing-key-type <type>', 'the same', 'P-256')
      .option('--root-years <years>', 'its life', '20')
      .option('--issuing-years <years>', 'its life', '10')
      .option(...publicUrl),
    InitOptions,
    caInit,
  );
  runs(
    ca
      .command('issue')
      .description('make a further issuing CA under a configured root; only while signetd is stopped')
      .requiredOption('--by <name>', 'the root, as the configuration calls it')
      .requiredOption('--name <name>', 'what the configuration will call the new CA')
      .requiredOption(...directory)
      .requiredOption('--country <code>', 'its country')
      .requiredOption('--organization <name>', 'its organisation')
      .requiredOption('--common-name <name>', 'its common name')
      .option('--key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-256')
      .option('--years <years>', 'its life', '10')
      .option(...publicUrl),
    IssueOptions,
    caIssue,
  );
  runs(
    ca
      .command('certify')
      .description('another certificate for a configured CA with the key that it has: a renewal, or a cross-certificate')
      .requiredOption('--authority <name>', 'the CA, as the configuration calls it')
      .requiredOption('--by <name>', 'who certifies it; a root certifies itself')
      .requiredOption(...directory)
      .requiredOption('--file <name>', 'name of the new file')
      .option('--years <years>', 'its life', '10')
      .option(...publicUrl),
    CertifyOptions,
    caCertify,
  );
  runs(
    ca
      .command('request')
      .description('a request (PKCS #10) for a root elsewhere; with a new key only while signetd is stopped')
      .requiredOption('--name <name>', 'what the configuration will call the CA')
      .requiredOption(...directory)
      .option('--authority <name>', 'renew this configured CA: its name and key')
      .option('--country <code>', 'of a new CA')
      .option('--organization <name>', 'of a new CA')
      .option('--common-name <name>', 'of a new CA')
      .option('--key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-256'),
    RequestOptions,
    caRequest,
  );
  runs(
    ca
      .command('import')
      .description('take the certificate that a root elsewhere gave')
      .requiredOption('--name <name>', 'what the configuration will call the CA')
      .requiredOption('--key-id <id>', 'CKA_ID, as signetctl ca request printed it')
      .requiredOption('--certificate <file>', 'the certificate (PEM or DER)')
      .requiredOption('--chain <file...>', 'the certificates above it, the root last')
      .requiredOption(...directory)
      .option(...publicUrl),
    ImportOptions,
    caImport,
  );
}
