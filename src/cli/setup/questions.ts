import { existsSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { isHost } from '../../certificates/tls-certificate.ts';
import { roles, usualRoles } from '../../clients/caller.ts';
import { keyTypes } from '../../config/key-types.ts';
import { loadProfile } from '../../token/host/module-profile.ts';
import { each, fallbackTo, matching, oneOf, listOf, type Answers, type Question } from './question.ts';

const always = (): boolean => true;
const withHsm = ({ token }: Partial<Answers>): boolean => token === 'hsm';
const withPostgresql = ({ state }: Partial<Answers>): boolean => state === 'postgresql';
const absolutePath = matching(/^(\/.*)?$/, 'an absolute path');

/** Names of the profiles of HSMs in native-config/. */
export function hsmProfiles(): string[] {
  const directory = new URL('../../../native-config/', import.meta.url);
  return readdirSync(directory)
    .flatMap((name) => (name.endsWith('.yaml') ? [name.slice(0, -'.yaml'.length)] : []))
    .filter((name) => name !== 'softhsm2')
    .toSorted();
}

/** Whether the module of a profile is where its vendor installs it. */
export function hasModule(profile: string): boolean {
  return loadProfile(profile).modulePaths.some((path) => existsSync(path));
}

/** In the order of the dialogue. */
export const questions: readonly Question[] = [
  {
    id: 'token',
    flag: '--token <kind>',
    text: 'token for the keys: softhsm (software, for a trial only) or hsm',
    ...oneOf(['softhsm', 'hsm']),
    fallback: fallbackTo(undefined),
    applies: always,
    lack: (answer) =>
      answer === 'softhsm' && !hasModule('softhsm2') ? 'SoftHSM is not installed (Debian: apt install softhsm2)' : undefined,
  },
  {
    id: 'profile',
    flag: '--profile <name>',
    text: `profile of the HSM: ${hsmProfiles().join(', ')}, or the path of a file`,
    fallback: fallbackTo(undefined),
    applies: withHsm,
    fault: (answer) => (answer.startsWith('/') || hsmProfiles().includes(answer) ? undefined : 'a profile of native-config/, or a path'),
  },
  {
    id: 'module',
    flag: '--module <file>',
    text: 'PKCS#11 module; empty: where the vendor installs it',
    fallback: fallbackTo(''),
    applies: withHsm,
    fault: absolutePath,
  },
  {
    id: 'label',
    flag: '--label <label>',
    text: 'label of the token',
    fallback: fallbackTo('signetd'),
    applies: always,
    fault: matching(/^.{1,32}$/u, '1 to 32 characters'),
  },
  {
    id: 'moduleEnvironment',
    flag: '--module-environment <list>',
    text: 'environment variables of the module, such as NAME=/path,OTHER=value; empty: none',
    fallback: fallbackTo(''),
    applies: withHsm,
    fault: (answer) => (listOf(answer).every((item) => /^[A-Za-z_]\w*=./.test(item)) ? undefined : 'a list such as NAME=value,OTHER=value'),
  },
  {
    id: 'hsmAddress',
    flag: '--hsm-address <list>',
    text: 'addresses of an HSM on the network, such as 192.0.2.5; empty: it is not reached over the network',
    fallback: fallbackTo(''),
    applies: withHsm,
    fault: (answer) => (listOf(answer).every((item) => /^[0-9a-fA-F.:]+(\/\d{1,3})?$/.test(item)) ? undefined : 'IP addresses or prefixes'),
  },
  {
    id: 'hsmDevice',
    flag: '--hsm-device <path>',
    text: 'device node of the HSM, such as /dev/name; empty: none',
    fallback: fallbackTo(''),
    applies: withHsm,
    fault: matching(/^(\/dev\/[\w./-]+)?$/, 'a path below /dev'),
  },
  {
    id: 'hsmGroup',
    flag: '--hsm-group <group>',
    text: "group of the device, or of the socket of the vendor's daemon; empty: none",
    fallback: fallbackTo(''),
    applies: withHsm,
    fault: matching(/^([A-Za-z_][\w.-]*)?$/, 'the name of a group'),
  },
  {
    id: 'hsmWrites',
    flag: '--hsm-writes <directory>',
    text: 'directory in which the module writes files; empty: none',
    fallback: fallbackTo(''),
    applies: withHsm,
    fault: absolutePath,
  },
  {
    id: 'hsmExecutableMemory',
    flag: '--hsm-executable-memory <yes|no>',
    text: 'whether the module makes executable memory itself',
    ...oneOf(['yes', 'no']),
    fallback: fallbackTo('no'),
    applies: withHsm,
  },
  {
    id: 'state',
    flag: '--state <kind>',
    text: 'state store: sqlite, or postgresql on this machine',
    ...oneOf(['sqlite', 'postgresql']),
    fallback: fallbackTo('sqlite'),
    applies: always,
  },
  {
    id: 'stateHost',
    flag: '--state-host <directory>',
    text: "directory of the PostgreSQL server's Unix socket",
    fallback: fallbackTo('/run/postgresql'),
    applies: withPostgresql,
    fault: matching(/^\/./, 'an absolute path; for a server on another machine, begin with sqlite and move later (docs/moving.md)'),
  },
  {
    id: 'stateDatabase',
    flag: '--state-database <name>',
    text: 'name of an empty database there',
    fallback: fallbackTo('signetd'),
    applies: withPostgresql,
    fault: matching(/^\S{1,63}$/u, '1 to 63 characters without spaces'),
  },
  {
    id: 'stateUser',
    flag: '--state-user <name>',
    text: 'its owner, a user of the database whom the server knows by the user signetd of this machine (peer)',
    fallback: fallbackTo('signetd'),
    applies: withPostgresql,
    fault: matching(/^\S{1,63}$/u, '1 to 63 characters without spaces'),
  },
  {
    id: 'organization',
    flag: '--organization <name>',
    text: 'organisation in the certificates of the authorities',
    fallback: fallbackTo(undefined),
    applies: always,
    fault: matching(/^\S.{0,62}\S$|^\S$/u, '1 to 64 characters'),
  },
  {
    id: 'country',
    flag: '--country <code>',
    text: 'its country, two letters such as FR',
    fallback: fallbackTo(undefined),
    applies: always,
    capital: true,
    fault: matching(/^[A-Z]{2}$/, 'two letters (ISO 3166-1)'),
  },
  {
    id: 'authority',
    flag: '--authority <kind>',
    text: 'issuing CA of the signing certificates: own (under its own root on the token) or outside (certified by a CA of yours)',
    ...oneOf(['own', 'outside']),
    fallback: fallbackTo('own'),
    applies: always,
  },
  {
    id: 'publicUrl',
    flag: '--public-url <url>',
    text: 'external address of CRLs, OCSP and certificates, such as http://pki.example.org; empty: no public listener',
    fallback: fallbackTo(''),
    applies: always,
    fault: (answer) =>
      answer === '' || (URL.canParse(answer) && answer.startsWith('http:')) ? undefined : 'a URL that begins with http://',
  },
  {
    id: 'host',
    flag: '--host <list>',
    text: 'host names and addresses of the API, separated by commas, for its certificate',
    fallback: () => hostname(),
    applies: always,
    fault: each(isHost, 'host names or IP addresses, separated by commas'),
  },
  {
    id: 'server',
    flag: '--server <kind>',
    text: 'certificate of the API: own (from the CA for TLS that setup makes), request (a PKCS #10 request for a CA of yours) or files',
    ...oneOf(['own', 'request', 'files']),
    fallback: fallbackTo('own'),
    applies: always,
  },
  {
    id: 'clients',
    flag: '--clients <kind>',
    text: 'CA of the client certificates: own (made by setup, key on the token) or outside',
    ...oneOf(['own', 'outside']),
    fallback: fallbackTo('own'),
    applies: always,
  },
  {
    id: 'tenant',
    flag: '--tenant <name>',
    text: 'name of the first tenant, which owns keys and certificates',
    fallback: fallbackTo('main'),
    applies: always,
    fault: matching(/^[a-z0-9][a-z0-9-]{0,63}$/, 'lower-case letters, digits and hyphens'),
  },
  {
    id: 'keyType',
    flag: '--key-type <type>',
    text: `type of the tenant's signing keys: ${keyTypes.join(', ')}`,
    ...oneOf(keyTypes),
    fallback: fallbackTo('P-256'),
    applies: always,
  },
  {
    id: 'client',
    flag: '--client <name>',
    text: 'name of the first client, an application that signs',
    fallback: fallbackTo('app'),
    applies: always,
    fault: matching(/^[A-Za-z0-9]([A-Za-z0-9._@-]{0,62}[A-Za-z0-9])?$/, 'letters, digits and . _ @ -'),
  },
  {
    id: 'roles',
    flag: '--roles <list>',
    text: `its roles, separated by commas: ${roles.join(', ')}`,
    fallback: fallbackTo(usualRoles),
    applies: always,
    fault: each((item) => roles.some((role) => role === item), `roles of ${roles.join(', ')}, separated by commas`),
  },
  {
    id: 'clientDirectory',
    flag: '--client-directory <directory>',
    text: "directory for the client's certificate and key",
    fallback: fallbackTo('/etc/signetd/clients'),
    applies: always,
    fault: matching(/^\/./, 'an absolute path'),
  },
];
