import { stringify } from 'yaml';
import { writeOwned } from './machine.ts';
import { places, users } from './places.ts';
import type { SetupProgress } from './progress.ts';
import { listOf, type Answers } from './question.ts';
import { isPostgresql, stateSection } from './state-database.ts';

/** Returns the section `token` of the configuration. */
function tokenSection({ token, profile, module, label, moduleEnvironment }: Answers): object {
  const environment =
    token === 'softhsm'
      ? { SOFTHSM2_CONF: places.softwareTokenSettings }
      : Object.fromEntries(listOf(moduleEnvironment).map((item) => [item.slice(0, item.indexOf('=')), item.slice(item.indexOf('=') + 1)]));
  return {
    profile: token === 'softhsm' ? 'softhsm2' : profile,
    ...(module === '' ? {} : { modulePath: module }),
    label,
    pin: 'credential:pin',
    clientUser: users.service,
    ...(Object.keys(environment).length === 0 ? {} : { environment }),
  };
}

/**
 * Returns where the CRL of the CA of clients is published; the name in the URL is the CA's default.
 */
export function publishedAt(publicUrl: string): { readonly urls?: { readonly crl: string[] } } {
  return publicUrl === '' ? {} : { urls: { crl: [`${publicUrl.replace(/\/$/, '')}/pki/client.crl`] } };
}

/** Returns the configuration as far as it can be made. */
function configurationOf({ answers, values }: SetupProgress, hasRevocationLists: boolean): object {
  const { publicUrl, tenant, keyType } = answers;
  const { certificateAuthorities, clientAuthority } = values;
  return {
    listeners: {
      api: {
        certificate: places.serverCertificate,
        key: 'credential:tls-key',
        clientCertificateAuthority: places.clientAuthority,
        ...(hasRevocationLists ? { clientRevocationLists: [places.revocationLists] } : {}),
      },
      ...(publicUrl === '' ? {} : { public: {} }),
    },
    token: tokenSection(answers),
    ...(isPostgresql(answers) ? { state: stateSection(answers) } : {}),
    ...(clientAuthority === undefined ? {} : { clientAuthority: { ...clientAuthority, ...publishedAt(publicUrl) } }),
    certificateAuthorities: certificateAuthorities ?? {},
    tenants: { [tenant]: { certificateAuthority: 'issuing', profile: { keyType } } },
  };
}

const head = `# Configuration of signetd, written by signetctl setup. signetctl config check checks it; signetctl reload applies most changes.
# The package's documentation lists every member (configuration.md, configuring.md).
`;

/** Writes the configuration beside its final place, where no unit finds it. */
export function writeDraft(progress: SetupProgress, hasRevocationLists = false): string {
  writeOwned(places.draft, `${head}\n${stringify(configurationOf(progress, hasRevocationLists))}`, 0o640, users.service);
  return places.draft;
}
