import { readFileSync } from 'node:fs';
import { newRoot } from '../../certificates/new-authority.ts';
import { pem } from '../../x509/pem.ts';
import { distinguishedNameOf } from '../ca/options.ts';
import { withNewKeys } from '../ca/token-work.ts';
import { readCertificates } from '../config/tls-checks.ts';
import { giveRootMadeFiles } from '../../service/root-made-files.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { writeDraft } from './draft.ts';
import { writeOwned } from './machine.ts';
import { places, users } from './places.ts';
import type { Step, StepContext } from './step.ts';

/**
 * The CA of the clients, and of the API's certificate: own, with its key on the token, or outside.
 */
export const tlsAuthorityStep: Step = {
  name: 'TLS authority',
  title: 'Preparing the CA of the client certificates',
  async run(context) {
    const { answers } = context.progress;
    if (answers.clients === 'own' || answers.server === 'own') await makeAuthority(context);
    if (answers.clients === 'outside') return takeOutside(context);
    return undefined;
  },
};

/** Its file; that of outside clients' CA is another one. */
export function ownTlsAuthority({ progress }: Pick<StepContext, 'progress'>): string {
  return progress.answers.clients === 'own' ? places.clientAuthority : places.serverAuthority;
}

async function makeAuthority({ progress }: StepContext): Promise<void> {
  const { country, organization } = progress.answers;
  const name = distinguishedNameOf(country, organization, `${organization} TLS CA`.slice(0, 64));
  const certificate = ownTlsAuthority({ progress });
  if (progress.values.clientAuthority !== undefined) return;
  try {
    await withNewKeys(writeDraft(progress), 'setup', ['root'], async (token, [keyId]) => {
      if (keyId === undefined) throw new Error('a key was asked for');
      const root = await newRoot(token, { keyId, keyType: 'P-256', name, years: 20 });
      writeOwned(certificate, pem('CERTIFICATE', root.certificate.der), 0o640, users.service);
      progress.keep({ clientAuthority: { certificate, keyId } });
    });
  } finally {
    giveRootMadeFiles(places.state);
  }
}

async function takeOutside({ options: { clientCa, clientCrl } }: StepContext): Promise<{ waits: string } | undefined> {
  if (clientCa === undefined)
    return { waits: 'the CA of the clients: run signetctl setup --client-ca FILE (with its root), and --client-crl FILE for its CRLs' };
  const wrong = readCertificates(clientCa).find(({ ca }) => !ca);
  if (wrong !== undefined) throw new CommandError(exitCodes.refused, `--client-ca: ${clientCa}: ${wrong.subject} is not a CA certificate`);
  writeOwned(places.clientAuthority, readFileSync(clientCa), 0o640, users.service);
  if (clientCrl.length > 0) {
    const lists = Buffer.concat(clientCrl.flatMap((file) => [readFileSync(file), Buffer.from('\n')]));
    writeOwned(places.revocationLists, lists, 0o640, users.service);
  }
  return Promise.resolve(undefined);
}
