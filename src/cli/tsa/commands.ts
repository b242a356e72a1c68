import type { Command } from 'commander';
import type { Runs } from '../ca/commands.ts';
import { CertifyOptions, tsaCertify } from './certify.ts';
import { InitOptions, tsaInit } from './init.ts';

const by = ['--by <name>', 'the CA that certifies it, as the configuration calls it'] as const;
const directory = ['--directory <directory>', 'where the file goes; none is overwritten'] as const;
const years = ['--years <years>', 'life of the certificate, no longer than that of the CA', '10'] as const;
const publicUrl = ['--public-url <url>', 'address of the public listener; absent: the urls of the CA in the configuration'] as const;

/** `signetctl tsa …` */
export function addTsaCommands(program: Command, runs: Runs): void {
  const tsa = program.command('tsa').description('the time-stamp authority, its key on the token');
  runs(
    tsa
      .command('init')
      .description('make its key and certificate; only while signetd is stopped')
      .requiredOption(...by)
      .requiredOption(...directory)
      .requiredOption('--country <code>', 'its country')
      .requiredOption('--organization <name>', 'its organisation')
      .requiredOption('--policy <oid>', 'object identifier of the policy of its tokens')
      .option('--common-name <name>', 'its common name', 'Time-stamp Authority')
      .option('--file <name>', 'name of the new file', 'tsa.pem')
      .option('--key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-256')
      .option(...years)
      .option(...publicUrl),
    InitOptions,
    tsaInit,
  );
  runs(
    tsa
      .command('certify')
      .description('another certificate for the configured one with the key that it has: a renewal')
      .requiredOption(...by)
      .requiredOption(...directory)
      .requiredOption('--file <name>', 'name of the new file')
      .option(...years)
      .option(...publicUrl),
    CertifyOptions,
    tsaCertify,
  );
}
