import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { certificationRequest } from '../../certificates/authority.ts';
import { hostExtensions } from '../../certificates/tls-certificate.ts';
import { decryptedCredential } from '../../config/encrypted-credential.ts';
import { readSecretBytes } from '../../config/secret-reference.ts';
import { pem } from '../../x509/pem.ts';
import { withOperatorToken } from '../ca/token-work.ts';
import { certified, commonNameOf } from '../clients/authority.ts';
import { newTlsKey } from '../clients/client-key.ts';
import { readCertificates } from '../config/tls-checks.ts';
import { giveRootMadeFiles } from '../../service/root-made-files.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { storeCredential } from './credentials.ts';
import { writeDraft } from './draft.ts';
import { writeOwned } from './machine.ts';
import { places, users } from './places.ts';
import { listOf, type Answers } from './question.ts';
import type { Step, StepContext, Waiting } from './step.ts';
import { ownTlsAuthority } from './tls-authority-step.ts';

/** Certificates of servers for longer are refused by some clients. */
const ownDays = 397;

/** The certificate of the API, and its key as a credential of the daemon's unit. */
export const serverStep: Step = {
  name: 'server certificate',
  title: 'Preparing the certificate of the API',
  async run(context) {
    switch (context.progress.answers.server) {
      case 'own':
        return ownCertificate(context);
      case 'request':
        return requestedCertificate(context);
      default:
        return givenCertificate(context);
    }
  },
};

/** Host names and addresses of the API; its own machine reaches it as localhost too. */
export function hostsOf({ host, server }: Answers): string[] {
  return [...new Set([...listOf(host), ...(server === 'own' ? ['localhost', '127.0.0.1'] : [])])];
}

async function ownCertificate({ progress, options: { credentialKey } }: StepContext): Promise<undefined> {
  const { clientAuthority } = progress.values;
  if (clientAuthority === undefined) throw new Error('the CA is made before');
  const [first = 'localhost'] = listOf(progress.answers.host);
  const name = commonNameOf(first.slice(0, 64), '--host');
  const { privateKey, subjectPublicKeyInfo } = newTlsKey('P-256');
  try {
    const der = await withOperatorToken(writeDraft(progress), 'setup', async (token) =>
      certified(token, clientAuthority, { name, subjectPublicKeyInfo, end: 'server', hosts: hostsOf(progress.answers), days: ownDays }),
    );
    storeCredential('tls-key', keyPem(privateKey), credentialKey);
    writeOwned(places.serverCertificate, pem('CERTIFICATE', der), 0o640, users.service);
    writeOwned(places.serverAuthority, readFileSync(ownTlsAuthority({ progress })), 0o640, users.service);
    return undefined;
  } finally {
    giveRootMadeFiles(places.state);
  }
}

async function requestedCertificate(context: StepContext): Promise<Waiting | undefined> {
  const { progress, options } = context;
  if (!existsSync(places.serverRequest)) {
    const [first = 'localhost'] = listOf(progress.answers.host);
    const { privateKey, subjectPublicKeyInfo } = newTlsKey('P-256');
    const request = await certificationRequest(
      {
        ...{ name: commonNameOf(first.slice(0, 64), '--host'), subjectPublicKeyInfo, signatureAlgorithm: 'ecdsaWithSHA256' },
        sign: async (tbs) => Promise.resolve(sign('sha256', tbs, privateKey)),
      },
      hostExtensions(hostsOf(progress.answers)),
    );
    storeCredential('tls-key', keyPem(privateKey), options.credentialKey);
    writeOwned(places.serverRequest, pem('CERTIFICATE REQUEST', request), 0o640, users.service);
  }
  if (options.serverCertificate === undefined) {
    return {
      waits: `the certificate of the API: have your CA certify ${places.serverRequest}, then run signetctl setup --server-certificate FILE (with the intermediate certificates) --server-ca FILE`,
    };
  }
  const key = decryptedCredential('the key of the API', 'tls-key');
  try {
    takeCertificate(options.serverCertificate, createPrivateKey(key), options.serverCa);
    return undefined;
  } finally {
    key.fill(0);
  }
}

async function givenCertificate({ options }: StepContext): Promise<Waiting | undefined> {
  const { serverCertificate, serverKey, serverCa, credentialKey } = options;
  if (serverCertificate === undefined || serverKey === undefined)
    return {
      waits: 'the certificate of the API and its key: run signetctl setup --server-certificate FILE --server-key FILE --server-ca FILE',
    };
  const bytes = readSecretBytes(`file:${serverKey}`, 'anyone');
  try {
    const key = createPrivateKey(bytes);
    takeCertificate(serverCertificate, key, serverCa);
    storeCredential('tls-key', keyPem(key), credentialKey);
    return await Promise.resolve(undefined);
  } finally {
    bytes.fill(0);
  }
}

/** @throws {CommandError} if the certificate is not that of the key, or is not valid now */
function takeCertificate(file: string, key: KeyObject, authority: string | undefined): void {
  const [own] = readCertificates(file);
  if (own === undefined) throw new CommandError(exitCodes.refused, `--server-certificate: ${file} has no certificate`);
  if (!own.checkPrivateKey(key)) throw new CommandError(exitCodes.refused, `--server-certificate: ${file} does not match the key`);
  const now = new Date();
  if (own.validToDate <= now || own.validFromDate > now)
    throw new CommandError(exitCodes.refused, `--server-certificate: ${file} is not valid now`);
  writeOwned(places.serverCertificate, readFileSync(file), 0o640, users.service);
  if (authority === undefined) return;
  readCertificates(authority);
  writeOwned(places.serverAuthority, readFileSync(authority), 0o640, users.service);
}

function keyPem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
}
