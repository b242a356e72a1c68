import type { Command } from 'commander';
import { issuerToken } from '../ca/commands.ts';
import type { Runs } from '../runs.ts';

const by = ['--by <name>', 'name of the certifying CA in the configuration'] as const;
const directory = ['--directory <directory>', 'directory for the new file; none is overwritten'] as const;
const years = ['--years <years>', "validity of the certificate, no longer than the CA's", '10'] as const;
const publicUrl = ['--public-url <url>', "address of the public listener; default: the CA's URLs in the configuration"] as const;

/** `signetctl tsa …` */
export function addTsaCommands(program: Command, runs: Runs): void {
  const tsa = program.command('tsa').description('manage the time-stamp authority, whose key is on the token');
  runs(
    tsa
      .command('init')
      .description('create its key and certificate; only while signetd is stopped')
      .requiredOption(...by)
      .requiredOption(...directory)
      .requiredOption('--country <code>', 'country')
      .requiredOption('--organization <name>', 'organisation')
      .requiredOption('--policy <oid>', "object identifier of its tokens' policy")
      .option('--common-name <name>', 'common name', 'Time-stamp Authority')
      .option('--file <name>', 'name of the new file', 'tsa.pem')
      .option('--key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-256')
      .option(...years)
      .option(...issuerToken)
      .option(...publicUrl),
    async () => import('./init.ts'),
    ({ InitOptions, tsaInit }) => [InitOptions, tsaInit],
  );
  runs(
    tsa
      .command('certify')
      .description('renew the certificate of the configured authority, for its existing key')
      .requiredOption(...by)
      .requiredOption(...directory)
      .requiredOption('--file <name>', 'name of the new file')
      .option(...years)
      .option(...publicUrl),
    async () => import('./certify.ts'),
    ({ CertifyOptions, tsaCertify }) => [CertifyOptions, tsaCertify],
  );
}
