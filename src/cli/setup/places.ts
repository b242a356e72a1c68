import { join } from 'node:path';

const configurationDirectory = '/etc/signetd';
/** Notes of an unfinished setup; only root can read them. */
const workDirectory = join(configurationDirectory, 'setup');

/** Where setup puts things; the units and the package have the same places. */
export const places = {
  configuration: join(configurationDirectory, 'signetd.yaml'),
  work: workDirectory,
  progress: join(workDirectory, 'progress.json'),
  /** The configuration as far as it is made; the units start only with the finished one. */
  draft: join(workDirectory, 'signetd.yaml'),
  pki: join(configurationDirectory, 'pki'),
  tls: join(configurationDirectory, 'tls'),
  serverCertificate: join(configurationDirectory, 'tls/server.pem'),
  serverRequest: join(configurationDirectory, 'tls/server.csr'),
  /** Root of the API's certificate, for clients. */
  serverAuthority: join(configurationDirectory, 'tls/server-ca.pem'),
  clientAuthority: join(configurationDirectory, 'tls/client-ca.pem'),
  revocationLists: join(configurationDirectory, 'tls/client-ca.crl'),
  softwareTokenSettings: join(configurationDirectory, 'softhsm2.conf'),
  softwareTokens: '/var/lib/signetd-token/tokens',
  tokenHome: '/var/lib/signetd-token',
  state: '/var/lib/signetd',
  database: '/var/lib/signetd/state.sqlite',
  tokenDropIn: '/etc/systemd/system/signetd-token.service.d/setup.conf',
} as const;

export const users = { service: 'signetd', token: 'signetd-token', tokenGroup: 'signetd-token-client' } as const;

/** Listeners as the socket units have them. */
export const ports = { api: 8443, operations: 9443, public: 8080 } as const;
