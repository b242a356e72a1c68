import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { newRoot } from '../../certificates/new-authority.ts';
import { loadTokenConfig } from '../../config/config.ts';
import { readSecretBytes } from '../../config/secret-reference.ts';
import { loadProfile } from '../../token/host/module-profile.ts';
import { hasForm } from '../../token/host/pin.ts';
import { pem } from '../../x509/pem.ts';
import { caInit } from '../ca/init.ts';
import { distinguishedNameOf } from '../ca/options.ts';
import { withNewKeys, withOperatorToken } from '../ca/token-work.ts';
import { certified, commonNameOf } from '../clients/authority.ts';
import { newTlsKey } from '../clients/client-key.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { tokenInit } from '../token/init.ts';
import { tokenInventory } from '../token/inventory.ts';
import { checkLacks } from './answers.ts';
import { ContainerDirectory, insidePlaces, type Made } from './container-places.ts';
import { Authority } from './progress.ts';
import { listOf, type Answers } from './question.ts';
import { hostsOf } from './server-step.ts';
import { publishedAt } from './draft.ts';
import { publicUrlOf } from './shared-files.ts';
import { say } from '../terminal.ts';

/** Certificates of servers for longer are refused by some clients. */
const serverDays = 397;
const clientDays = 730;
const generatedPinBytes = 12;
const firstClient = 'first-client.pem';

const Hierarchy = z.object({ certificateAuthorities: z.record(z.string(), Authority) });
const Inventory = z.object({ objects: z.array(z.object({ id: z.string() })) });

interface Context {
  readonly directory: ContainerDirectory;
  readonly answers: Answers;
}

/**
 * `setup --container`: writes what a container mounts, without systemd and as the user of the
 * container. Nothing is overwritten. After a failure nothing is left, except what belongs to keys
 * on an HSM.
 */
export async function containerSetup(path: string, answers: Answers, pinFile: string | undefined): Promise<Outcome> {
  checkPossible(answers, pinFile);
  checkLacks(answers);
  const directory = new ContainerDirectory(path);
  const context = { directory, answers };
  try {
    writePin(context, pinFile);
    const made = await makeAuthorities(context);
    await certify(context, made);
    directory.writeConfiguration(answers, made);
    return finished(context);
  } catch (error) {
    if (answers.token === 'softhsm') directory.clear();
    else say(`What was made so far is in ${path}: keys on the token may belong to it (signetctl token inventory).`);
    throw error;
  } finally {
    directory.end();
  }
}

/** @throws {CommandError} */
function checkPossible(answers: Answers, pinFile: string | undefined): void {
  if (process.geteuid?.() === 0)
    throw new CommandError(exitCodes.refused, 'setup --container is run as the user of the container (10001), whom its files belong to');
  for (const [flag, answer] of Object.entries({ authority: answers.authority, server: answers.server, clients: answers.clients }))
    if (answer !== 'own')
      throw new CommandError(exitCodes.usage, `--${flag} ${answer} is not for --container: replace its files afterwards`);
  if (answers.state !== 'sqlite')
    throw new CommandError(exitCodes.usage, `--state ${answers.state} is not for --container: write it into the configuration afterwards`);
  const { hsmAddress, hsmDevice, hsmGroup, hsmWrites } = answers;
  if ([hsmAddress, hsmDevice, hsmGroup, hsmWrites].some((answer) => answer !== ''))
    throw new CommandError(exitCodes.usage, '--hsm-address, --hsm-device, --hsm-group and --hsm-writes are for units of systemd');
  if (answers.token !== 'softhsm' && pinFile === undefined)
    throw new CommandError(exitCodes.usage, '--pin-file is missing: a file of mode 0600 with the PIN of the token');
}

function writePin({ directory, answers }: Context, pinFile: string | undefined): void {
  const pin = pinFile === undefined ? Buffer.from(randomBytes(generatedPinBytes).toString('hex')) : readSecretBytes(`file:${pinFile}`);
  const { pin: form } = loadProfile(loadTokenConfig(directory.writeDraft(answers, {})).profile);
  if (form !== undefined && !hasForm(form.pattern, pin))
    throw new CommandError(exitCodes.usage, `the PIN does not have the form that this HSM needs: ${form.form}`);
  directory.write(join(directory.places.secrets, 'pin'), pin, 0o600);
  pin.fill(0);
}

/** Makes the software token, and the authorities with their keys on the token. */
async function makeAuthorities({ directory, answers }: Context): Promise<Made> {
  const { country, organization, label } = answers;
  const { configuration, secrets, state } = directory.places;
  const draft = directory.writeDraft(answers, {});
  if (answers.token === 'softhsm') {
    say('Making the software token …');
    mkdirSync(join(state, 'tokens'), { mode: 0o700 });
    directory.write(directory.soPin, randomBytes(generatedPinBytes).toString('hex'), 0o600);
    await tokenInit(draft, { label, soPin: `file:${directory.soPin}`, pin: `file:${join(secrets, 'pin')}`, reinitialise: false });
  }
  const keys = Inventory.parse((await tokenInventory(draft)).json).objects.length;
  if (keys > 0) throw new CommandError(exitCodes.refused, `the token "${label}" has ${keys} keys of signetd already: use another token`);
  say('Making the authorities …');
  const { json } = await caInit(draft, {
    ...{ directory: configuration, country, organization },
    ...{ rootName: `${organization} Root CA`.slice(0, 64), issuingName: `${organization} Issuing CA`.slice(0, 64) },
    ...{ root: 'root', issuing: 'issuing', rootKeyType: 'P-384', issuingKeyType: 'P-256', rootYears: '20', issuingYears: '10' },
    ...publicUrlOf(answers),
  });
  const { certificateAuthorities } = Hierarchy.parse(json);
  const name = distinguishedNameOf(country, organization, `${organization} TLS CA`.slice(0, 64));
  return withNewKeys(directory.writeDraft(answers, { certificateAuthorities }), 'setup', ['root'], async (token, [keyId]) => {
    if (keyId === undefined) throw new Error('a key was asked for');
    const root = await newRoot(token, { keyId, keyType: 'P-256', name, years: 20 });
    const text = pem('CERTIFICATE', root.certificate.der);
    for (const file of ['client-ca.pem', 'server-ca.pem']) directory.write(join(configuration, file), text);
    return { certificateAuthorities, clientKeyId: keyId };
  });
}

/** Issues the certificates of the API and of the first client. */
async function certify({ directory, answers }: Context, made: Made): Promise<void> {
  const { configuration, secrets } = directory.places;
  if (made.clientKeyId === undefined) throw new Error('the CA is made before');
  const authority = { certificate: join(configuration, 'client-ca.pem'), keyId: made.clientKeyId, ...publishedAt(answers.publicUrl) };
  const [first = 'localhost'] = listOf(answers.host);
  const [server, client] = [newTlsKey('P-256'), newTlsKey('P-256')];
  say('Issuing the certificates of the API and of the first client …');
  const [serverDer, clientDer] = await withOperatorToken(directory.writeDraft(answers, made), 'setup', async (token) => [
    await certified(token, authority, {
      ...{ name: commonNameOf(first.slice(0, 64), '--host'), subjectPublicKeyInfo: server.subjectPublicKeyInfo },
      ...{ end: 'server', hosts: hostsOf(answers), days: serverDays },
    }),
    await certified(token, authority, {
      ...{ name: commonNameOf(answers.client, '--client'), subjectPublicKeyInfo: client.subjectPublicKeyInfo },
      ...{ end: 'client', hosts: [], days: clientDays },
    }),
  ]);
  const keyPem = ({ privateKey }: typeof server): string => privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  if (serverDer === undefined || clientDer === undefined) throw new Error('two certificates were asked for');
  directory.write(join(configuration, 'server.pem'), pem('CERTIFICATE', serverDer));
  directory.write(join(secrets, 'tls-key'), keyPem(server), 0o600);
  // Where the service sees it, for its registration.
  directory.write(join(configuration, firstClient), pem('CERTIFICATE', clientDer));
  directory.write(join(directory.client, `${answers.client}.pem`), pem('CERTIFICATE', clientDer));
  directory.write(join(directory.client, `${answers.client}.key`), keyPem(client), 0o600);
  directory.write(join(directory.client, 'server-ca.pem'), readFileSync(join(configuration, 'server-ca.pem')));
}

function finished({ directory, answers }: Context): Outcome {
  const { places, client } = directory;
  const mounts = Object.entries(places).map(([name, path]) => [String(path), insidePlaces[name as keyof typeof insidePlaces]] as const);
  const { client: name, tenant, roles } = answers;
  const registration = `signetctl client add --name ${name} --certificate ${join(insidePlaces.configuration, firstClient)} --tenant ${tenant} --roles ${roles}`;
  const lines = [
    ...mounts.map(([from, to]) => [from, `mount as ${to}`] as const),
    [client, 'certificate and key of the first client'] as const,
  ];
  return {
    json: { mounts: Object.fromEntries(mounts), client, registration },
    text: `The files of the container are written.\n${fields(lines)}\nOnce it is ready, register the first client in the container:\n\n${registration}\n`,
    notes: answers.token === 'softhsm' ? ['the keys are in a software token: for trials only'] : [],
  };
}
