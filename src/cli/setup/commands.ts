import type { Command } from 'commander';
import type { Runs } from '../runs.ts';
import { questions } from './questions.ts';

const credentialKey = ['--credential-key <key>', 'what encrypts credentials: auto, host, tpm2 or host+tpm2', 'auto'] as const;

/** `signetctl setup`, with an option for each question, and `server renew`. */
export function addSetupCommands(program: Command, runs: Runs): void {
  const command = program
    .command('setup')
    .description('set up signetd after its installation, up to a first signature; asks what it needs');
  for (const { flag, text } of questions) command.option(flag, text);
  command
    .option('--pin-file <file>', 'file of mode 0600 with the PIN of the token; a software token gets a random one without it')
    .option('--ca-certificate <file>', 'with --authority outside: certificate of the issuing CA')
    .option('--ca-chain <file...>', 'the certificates above it, the root last')
    .option('--server-certificate <file>', 'certificate of the API, with --server request or files')
    .option('--server-key <file>', 'its key (mode 0600), with --server files')
    .option('--server-ca <file>', 'root of that certificate, for the first client')
    .option('--client-ca <file>', 'with --clients outside: CAs of the clients up to their root, PEM')
    .option('--client-crl <file...>', 'their CRLs, PEM')
    .option('--client-certificate <file>', 'with --clients outside: certificate of the first client')
    .option('--client-key <file>', 'its key, for the first signature')
    .option(...credentialKey)
    .option('--unattended', 'ask nothing: options and defaults are the answers')
    .option('--yes', 'do not ask whether to carry out the plan')
    .option('--plan-only', 'show the plan and change nothing')
    .option('--overwrite', 'replace an existing configuration, which is kept under another name')
    .option('--container <directory>', 'write what a container mounts to this directory, as the user of the container, without systemd')
    .option('--start-over', 'forget an unfinished setup; what it made stays');
  runs(
    command,
    async () => import('./setup.ts'),
    ({ SetupOptions, setup }) => [SetupOptions, setup],
  );

  const server = program.command('server').description("manage the API's own certificate");
  runs(
    server
      .command('renew')
      .description('issue the next certificate of the API with the CA that setup made')
      .option('--days <days>', 'validity, limited by that of the CA', '397')
      .option('--new-key', 'for a new key, which takes effect at the next restart, instead of the present one')
      .option(...credentialKey),
    async () => import('./server-renew.ts'),
    ({ ServerRenewOptions, serverRenew }) => [ServerRenewOptions, serverRenew],
  );
}
