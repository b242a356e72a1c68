import { Option, type Command } from 'commander';
import type { Runs } from '../runs.ts';

const names = {
  tenant: ['--tenant <tenant>', 'tenant that signs with it'],
  ca: ['--ca <identifier>', 'identifier of the CA, such as FR03'],
  certificateId: ['--certificate-id <identifier>', 'identifier of the certificate, four characters'],
} as const;

function named(command: Command): Command {
  return command
    .requiredOption(...names.tenant)
    .requiredOption(...names.ca)
    .requiredOption(...names.certificateId);
}

/** `signetctl twoddoc …` */
export function addTwoDDocCommands(program: Command, runs: Runs): void {
  const twoDDoc = program.command('twoddoc').description('manage 2D-Doc');
  runs(
    twoDDoc
      .command('decode')
      .description('show what a 2D-Doc code says, and verify its signature; needs neither signetd nor its configuration')
      .argument(
        '<code>',
        'file with a picture of the code, its bytes, base64, or signed2DDoc; or the code itself, with <GS>, <RS>, <US>; -: standard input',
      )
      .option('--certificate <file>', "the signer's certificate, PEM or DER; without it, the signature is not checked"),
    async () => import('./decode.ts'),
    ({ DecodeOptions, decode }) => [DecodeOptions, decode],
  );
  const identity = twoDDoc.command('identity').description('manage digital identities, whose keys are on the token');
  runs(
    named(identity.command('add').description('create a key and the request for its certificate; only while signetd is stopped'))
      .addOption(new Option('--curve <curve>', 'curve of the key').choices(['P-256', 'P-384', 'P-521']).default('P-256'))
      .requiredOption('--organization <name>', 'organisation that signs')
      .option('--siren <number>', 'its number in the SIRENE register')
      .option('--siret <number>', 'number of its establishment, instead')
      .option('--country <code>', 'its country', 'FR')
      .option('--types <codes>', 'comma-separated codes of the document types that it may sign; default: those that the certificate allows')
      .requiredOption('--directory <directory>', 'directory for the request; no file is overwritten'),
    async () => import('./identity-add.ts'),
    ({ AddOptions, identityAdd }) => [AddOptions, identityAdd],
  );
  runs(
    identity
      .command('list')
      .description('list the digital identities with their states')
      .option('--tenant <tenant>', 'only those of this tenant'),
    async () => import('./identity-list.ts'),
    ({ ListOptions, identityList }) => [ListOptions, identityList],
  );
  runs(
    named(identity.command('unlock').description('unlock the key of an identity and reset its attempts')),
    async () => import('./identity-commands.ts'),
    ({ NameOptions, identityUnlock }) => [NameOptions, identityUnlock],
  );
  runs(
    named(identity.command('remove').description('permanently destroy the key of an identity, without its password')),
    async () => import('./identity-commands.ts'),
    ({ NameOptions, identityRemove }) => [NameOptions, identityRemove],
  );
}
