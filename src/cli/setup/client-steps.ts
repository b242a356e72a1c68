import { X509Certificate } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ClientView } from '../../admin/views.ts';
import { withOperatorToken } from '../ca/token-work.ts';
import { certified, commonNameOf } from '../clients/authority.ts';
import { writeClientFiles } from '../clients/client-files.ts';
import { newTlsKey } from '../clients/client-key.ts';
import { registrationOf } from '../client.ts';
import { giveRootMadeFiles } from '../../service/root-made-files.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { ask } from '../service.ts';
import { publishedAt, writeDraft } from './draft.ts';
import { ownDirectory, writeOwned } from './machine.ts';
import { places } from './places.ts';
import { listOf, type Answers } from './question.ts';
import type { Step, StepContext, Waiting } from './step.ts';
import { say } from '../terminal.ts';

const clientDays = 730;
const endings = ['pem', 'key', 'p12', 'p12.password'] as const;

/** Files of the first client. */
export function clientFile({ client, clientDirectory }: Answers, ending: (typeof endings)[number]): string {
  return join(clientDirectory, `${client}.${ending}`);
}

/** Directory of what the first signature leaves. */
export function firstSignatureDirectory({ client, clientDirectory }: Answers): string {
  return join(clientDirectory, `${client}-first-signature`);
}

/**
 * Returns the files of the first client that are there before setup has made any.
 * @param given by the operator, which may be in their place already
 */
export function clientFilesThere(answers: Answers, given: readonly (string | undefined)[]): string[] {
  const kept = new Set(given.flatMap((file) => (file === undefined ? [] : [resolve(file)])));
  const made = answers.clients === 'own' ? endings : (['pem', 'key'] as const);
  return [...made.map((ending) => clientFile(answers, ending)), firstSignatureDirectory(answers)].filter(
    (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined && !kept.has(path),
  );
}

/** The certificate and key of the first client. */
export const clientStep: Step = {
  name: 'client certificate',
  title: 'Preparing the first client',
  async run(context) {
    const { answers } = context.progress;
    // Only a directory of its own is closed to others.
    if (!existsSync(answers.clientDirectory)) ownDirectory(answers.clientDirectory, 'root', 'root', 0o700);
    return answers.clients === 'own' ? issue(context) : take(context);
  },
};

async function issue({ progress }: StepContext): Promise<undefined> {
  const { clientAuthority } = progress.values;
  if (clientAuthority === undefined) throw new Error('the CA is made before');
  const { client, clientDirectory } = progress.answers;
  // Of a run that ended before it noted what it had made.
  for (const ending of endings) rmSync(clientFile(progress.answers, ending), { force: true });
  const key = newTlsKey('P-256');
  const { subjectPublicKeyInfo } = key;
  try {
    const der = await withOperatorToken(writeDraft(progress), 'setup', async (token) =>
      certified(
        token,
        { ...clientAuthority, ...publishedAt(progress.answers.publicUrl) },
        {
          ...{ name: commonNameOf(client, '--client'), subjectPublicKeyInfo },
          ...{ end: 'client', hosts: [], days: clientDays },
        },
      ),
    );
    writeClientFiles({ directory: clientDirectory, name: client }, der, key, [clientAuthority.certificate]);
    return undefined;
  } finally {
    giveRootMadeFiles(places.state);
  }
}

async function take({ progress, options: { clientCertificate, clientKey } }: StepContext): Promise<Waiting | undefined> {
  if (clientCertificate === undefined) {
    return {
      waits:
        'the certificate of the first client: run signetctl setup --client-certificate FILE, and --client-key FILE for a first signature',
    };
  }
  if (new X509Certificate(readFileSync(clientCertificate)).ca)
    throw new CommandError(exitCodes.refused, `--client-certificate: ${clientCertificate} is the certificate of a CA`);
  writeOwned(clientFile(progress.answers, 'pem'), readFileSync(clientCertificate), 0o644);
  if (clientKey !== undefined) writeOwned(clientFile(progress.answers, 'key'), readFileSync(clientKey), 0o600);
  return Promise.resolve(undefined);
}

/** Registers the first client with the running service. */
export const registrationStep: Step = {
  name: 'registration',
  title: 'Registering the first client',
  async run({ progress }) {
    const { client: name, tenant, roles } = progress.answers;
    const certificate = new X509Certificate(readFileSync(clientFile(progress.answers, 'pem'))).raw.toString('base64');
    // Setup may have registered it before it noted that.
    const request = registrationOf({ name, tenant, roles: listOf(roles), certificate, replace: true });
    const { notes } = await ask(places.configuration, request, ClientView);
    for (const note of notes) say(`Note: ${note}`);
    return undefined;
  },
};
