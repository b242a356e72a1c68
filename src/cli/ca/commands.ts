import type { Command } from 'commander';
import type { Runs } from '../runs.ts';

const publicUrl = ['--public-url <url>', 'external address of the public listener, such as http://pki.example.org'] as const;
/** For commands whose new key and whose issuer's key may be on two tokens. */
export const issuerToken = [
  '--issuer-token <file>',
  "configuration whose section token names the token with the issuer's key, if it is another one",
] as const;
const directory = ['--directory <directory>', 'directory for the new files; none is overwritten'] as const;

/** `signetctl ca …` */
export function addCaCommands(program: Command, runs: Runs): void {
  const ca = program.command('ca').description('manage certificate authorities whose keys are on the token');
  runs(
    ca
      .command('init')
      .description('create a root and an issuing CA; only while signetd is stopped')
      .requiredOption(...directory)
      .requiredOption('--country <code>', 'country of both')
      .requiredOption('--organization <name>', 'organisation of both')
      .option('--root-name <name>', 'common name of the root', 'Root CA')
      .option('--issuing-name <name>', 'common name of the issuing CA', 'Issuing CA')
      .option('--root <name>', 'name of the root in the configuration', 'root')
      .option('--issuing <name>', 'name of the issuing CA in the configuration', 'issuing')
      .option('--root-key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-384')
      .option('--issuing-key-type <type>', 'as above', 'P-256')
      .option('--root-years <years>', 'validity of the root', '20')
      .option('--issuing-years <years>', 'validity of the issuing CA', '10')
      .option(...publicUrl),
    async () => import('./init.ts'),
    ({ InitOptions, caInit }) => [InitOptions, caInit],
  );
  runs(
    ca
      .command('issue')
      .description('create another issuing CA under a configured root; only while signetd is stopped')
      .requiredOption('--by <name>', 'name of the root in the configuration')
      .requiredOption('--name <name>', 'name of the new CA in the configuration')
      .requiredOption(...directory)
      .requiredOption('--country <code>', 'country')
      .requiredOption('--organization <name>', 'organisation')
      .requiredOption('--common-name <name>', 'common name')
      .option('--key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-256')
      .option('--years <years>', 'validity', '10')
      .option(...issuerToken)
      .option(...publicUrl),
    async () => import('./issue.ts'),
    ({ IssueOptions, caIssue }) => [IssueOptions, caIssue],
  );
  runs(
    ca
      .command('certify')
      .description('issue another certificate for the existing key of a configured CA: a renewal or a cross-certificate')
      .requiredOption('--authority <name>', 'name of the CA in the configuration')
      .requiredOption('--by <name>', 'name of the certifying CA; a root certifies itself')
      .requiredOption(...directory)
      .requiredOption('--file <name>', 'name of the new file')
      .option('--years <years>', 'validity', '10')
      .option('--main', 'signatures are to contain this certificate, with a chain for receivers who trust either root')
      .option(...publicUrl),
    async () => import('./certify.ts'),
    ({ CertifyOptions, caCertify }) => [CertifyOptions, caCertify],
  );
  runs(
    ca
      .command('new-root')
      .description('create the successor of a root, and certificates between the two; only while signetd is stopped')
      .requiredOption('--replaces <name>', 'name of the present root in the configuration')
      .requiredOption('--name <name>', 'name of the new root in the configuration')
      .requiredOption(...directory)
      .requiredOption('--country <code>', 'country')
      .requiredOption('--organization <name>', 'organisation')
      .requiredOption('--common-name <name>', 'common name, different from that of the present root')
      .option('--key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-384')
      .option('--years <years>', 'validity', '20')
      .option(...issuerToken)
      .option(...publicUrl),
    async () => import('./new-root.ts'),
    ({ NewRootOptions, caNewRoot }) => [NewRootOptions, caNewRoot],
  );
  runs(
    ca
      .command('retire')
      .description('issue the last CRL of a CA that nothing needs any more; only while signetd is stopped')
      .requiredOption('--authority <name>', 'name of the CA in the configuration')
      .requiredOption(...directory)
      .requiredOption('--file <name>', 'name of the new file, for the CRL')
      .option(
        '--unrevocable',
        'although what it issued is valid: it can no longer be revoked, and the CRL ends with the certificate of the CA',
      )
      .option(...issuerToken)
      .option('--destroy-key', 'destroy the key on the token: nothing can be issued or revoked with it afterwards'),
    async () => import('./retire.ts'),
    ({ RetireOptions, caRetire }) => [RetireOptions, caRetire],
  );
  runs(
    ca
      .command('request')
      .description('create a certification request (PKCS #10) for an external root; with a new key only while signetd is stopped')
      .requiredOption('--name <name>', 'name of the CA in the configuration')
      .requiredOption(...directory)
      .option('--authority <name>', 'renew this configured CA, with its name and key')
      .option('--country <code>', 'country of a new CA')
      .option('--organization <name>', 'organisation of a new CA')
      .option('--common-name <name>', 'common name of a new CA')
      .option('--key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-256'),
    async () => import('./request.ts'),
    ({ RequestOptions, caRequest }) => [RequestOptions, caRequest],
  );
  runs(
    ca
      .command('import')
      .description('import a certificate issued by an external root')
      .requiredOption('--name <name>', 'name of the CA in the configuration')
      .requiredOption('--key-id <id>', 'CKA_ID, as printed by signetctl ca request')
      .requiredOption('--certificate <file>', 'the certificate (PEM or DER)')
      .requiredOption('--chain <file...>', 'the issuing certificates, the root last')
      .requiredOption(...directory)
      .option(...publicUrl),
    async () => import('./import.ts'),
    ({ ImportOptions, caImport }) => [ImportOptions, caImport],
  );
}
