import { issuerToken } from '../ca/commands.ts';
import type { Command } from 'commander';
import { roles, usualRoles } from '../../clients/caller.ts';
import { NoOptions, type Runs } from '../runs.ts';
import { tlsKeyTypes } from './client-key.ts';

const directory = ['--directory <directory>', 'directory for the new files; none is overwritten'] as const;
const keyType = ['--key-type <type>', `type of a new key: ${tlsKeyTypes.join(', ')}`, 'P-256'] as const;
const days = ['--days <days>', 'validity, limited by that of the CA', '730'] as const;

/** `signetctl client …` */
export function addClientCommands(program: Command, runs: Runs): void {
  const client = program.command('client').description('manage the clients of the API');
  runs(
    client
      .command('add')
      .description('register the public key of a client certificate')
      .requiredOption('--certificate <file>', 'the certificate, PEM or DER')
      .requiredOption('--name <name>', 'name of the client in the audit log')
      .requiredOption('--tenant <tenant>', 'tenant whose keys it uses')
      .requiredOption('--roles <roles>', `comma-separated: ${roles.join(', ')}`)
      .option('--replace', 'replace the registration of this public key')
      .option('--again', 'register it even if its public key was revoked'),
    async () => import('../client.ts'),
    ({ AddOptions, clientAdd }) => [AddOptions, clientAdd],
  );
  runs(
    client
      .command('list')
      .description('list the registered clients')
      .option('--revoked', 'list those that were revoked instead, the last one first'),
    async () => import('../client.ts'),
    ({ ListOptions, clientList }) => [ListOptions, clientList],
  );
  runs(
    client
      .command('revoke')
      .description('revoke a registration; once the command returns, nothing more is signed for the client')
      .argument('<client>', 'name, or SHA-256 of the public key'),
    async () => import('../client.ts'),
    ({ RevokeOptions, clientRevoke }) => [RevokeOptions, clientRevoke],
  );
  runs(
    client.command('reload').description('reload the registered clients from the state store'),
    async () => import('../client.ts'),
    ({ clientReload }) => [NoOptions, clientReload],
  );
  addCertificateCommands(client, runs);
}

/** `client issue` and `client renew`, which need the CA of `clientAuthority`. */
function addCertificateCommands(client: Command, runs: Runs): void {
  runs(
    client
      .command('issue')
      .description('issue the certificate of a new client and register it')
      .requiredOption('--name <name>', 'name of the client: in the certificate and in the audit log')
      .option('--tenant <tenant>', 'tenant whose keys it uses; optional if the configuration has only one')
      .option('--roles <roles>', `comma-separated: ${roles.join(', ')}`, usualRoles)
      .requiredOption(...directory)
      .option('--csr <file>', 'request of the client (PKCS #10), instead of a new key')
      .option(...keyType)
      .option(...days),
    async () => import('./issue.ts'),
    ({ IssueOptions, clientIssue }) => [IssueOptions, clientIssue],
  );
  runs(
    client
      .command('renew')
      .description('issue the next certificate of a registered client')
      .argument('<client>', 'name, or SHA-256 of the public key')
      .requiredOption(...directory)
      .option('--csr <file>', 'request of the client (PKCS #10) with a new or the present key, instead of a new key')
      .option('--certificate <file>', 'the present certificate: the new one is for the same key')
      .option(...keyType)
      .option(...days)
      .option('--revoke-old', 'revoke the old key once the new one is registered'),
    async () => import('./renew.ts'),
    ({ RenewOptions, clientRenew }) => [RenewOptions, clientRenew],
  );
  runs(
    client
      .command('new-authority')
      .description('create the successor of the CA of clientAuthority; only while signetd is stopped')
      .requiredOption('--name <name>', 'name of the new files')
      .requiredOption(...directory)
      .requiredOption('--country <code>', 'country')
      .requiredOption('--organization <name>', 'organisation')
      .requiredOption('--common-name <name>', 'common name, different from that of the present CA')
      .option('--key-type <type>', 'RSA-3072, RSA-4096, P-256 or P-384', 'P-256')
      .option('--years <years>', 'validity', '20')
      .option(...issuerToken),
    async () => import('./new-authority.ts'),
    ({ NewAuthorityOptions, clientNewAuthority }) => [NewAuthorityOptions, clientNewAuthority],
  );
}
