import { credentialFile } from '../../config/encrypted-credential.ts';
import { places, ports } from './places.ts';
import type { Answers } from './question.ts';
import { hostsOf } from './server-step.ts';
import { isPostgresql } from './state-database.ts';

/** Returns what setup will do, one line for each change. */
export function planOf(answers: Answers): string[] {
  const { authority, organization, country, server, clients, client, clientDirectory, tenant, keyType, roles, publicUrl } = answers;
  const own = clients === 'own' || server === 'own';
  return [
    ...tokenLines(answers),
    `store the PIN, encrypted for this machine, in ${credentialFile('pin')}`,
    ...(isPostgresql(answers)
      ? [`keep the state in the empty database "${answers.stateDatabase}" of the PostgreSQL server at ${answers.stateHost}`]
      : []),
    authority === 'own'
      ? `make a root and an issuing CA of ${organization} (${country}), keys on the token, certificates in ${places.pki}`
      : `make the key of an issuing CA of ${organization} (${country}) on the token, and a request for your CA in ${places.pki}`,
    ...(own ? [`make a CA for TLS, key on the token, certificate in ${places.tls}`] : []),
    serverLine(answers),
    clients === 'own'
      ? `issue the certificate of the client "${client}"; its key, a PKCS #12 file and the password of that go to ${clientDirectory} (mode 0600)`
      : `take the CA of the clients, and the certificate of the client "${client}", from files`,
    `write ${places.configuration}: tenant "${tenant}" with ${keyType} keys${publicUrl === '' ? ', no public listener' : `, public listener at ${publicUrl}`}`,
    `enable and start signetd-token.service and signetd.service: API on port ${ports.api}, health and metrics on 127.0.0.1:${ports.operations}${publicUrl === '' ? '' : `, public listener on port ${ports.public}`}`,
    `register "${client}" with the roles ${roles}`,
    'sign a first document over mTLS and have OpenSSL verify it',
  ];
}

function tokenLines({ token, label, profile, module, hsmAddress, hsmDevice, hsmGroup, hsmWrites, hsmExecutableMemory }: Answers): string[] {
  if (token === 'softhsm') return [`make the software token "${label}" in ${places.softwareTokens} (for trials only)`];
  const relaxed = [hsmAddress, hsmDevice, hsmGroup, hsmWrites].some((answer) => answer !== '') || hsmExecutableMemory === 'yes';
  return [
    `use the token "${label}" through the profile ${profile}${module === '' ? '' : ` and the module ${module}`}; it is not initialised`,
    ...(relaxed ? [`give the token host what the module needs, in ${places.tokenDropIn}`] : []),
  ];
}

function serverLine(answers: Answers): string {
  const hosts = hostsOf(answers).join(', ');
  const key = `its key, encrypted for this machine, in ${credentialFile('tls-key')}`;
  if (answers.server === 'own') return `issue the certificate of the API for ${hosts}; ${key}`;
  if (answers.server === 'request') return `make the key of the API and a request for ${hosts}; ${key}`;
  return `take the certificate of the API from files; ${key}`;
}
