import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { QuickstartEnvironment } from './quickstart-environment.ts';

/** What an operator does by docs/installing-by-hand.md, as a script of the shell, with the material of a quickstart at /srv. */
export const installation = `
set -eu
umask 077
install -m 0640 -g signetd /srv/signetd.yaml /etc/signetd/
cp -r /srv/tls /srv/pki /srv/2d-doc /etc/signetd/ && rm /etc/signetd/tls/*.key
chmod -R u=rwX,g=rX,o= /etc/signetd/tls /etc/signetd/pki /etc/signetd/2d-doc
chgrp -R signetd /etc/signetd/tls /etc/signetd/pki /etc/signetd/2d-doc
systemd-creds encrypt --with-key=host --name=pin /srv/token/pin /etc/credstore.encrypted/signetd.pin
systemd-creds encrypt --with-key=host --name=tls-key /srv/tls/server.key /etc/credstore.encrypted/signetd.tls-key
install -d -o signetd -g signetd -m 0700 /var/lib/signetd
install -o signetd -g signetd -m 0600 /srv/state.sqlite /var/lib/signetd/
install -d -o signetd -g signetd -m 0750 /var/log/signetd
cp -r /srv/audit /var/log/signetd/ && chown -R signetd:signetd /var/log/signetd
install -d -o signetd-token -g signetd-token-client -m 0700 /var/lib/signetd-token
cp -r /srv/token/tokens /var/lib/signetd-token/ && chown -R signetd-token:signetd-token-client /var/lib/signetd-token/tokens
printf '%s\\n' 'directories.tokendir = /var/lib/signetd-token/tokens' 'objectstore.backend = file' >/etc/softhsm2.conf
chmod 0644 /etc/softhsm2.conf
mkdir -m 0755 -p /etc/systemd/system/signetd-token.service.d
printf '%s\\n' '[Service]' 'Environment=SOFTHSM2_CONF=/etc/softhsm2.conf' >/etc/systemd/system/signetd-token.service.d/softhsm.conf
chmod 0644 /etc/systemd/system/signetd-token.service.d/softhsm.conf
systemctl mask systemd-networkd-wait-online.service
systemctl daemon-reload
systemctl enable --now signetd-public.socket signetd-token.service signetd.service
`;

/** Copies a prepared quickstart to `material`, with a configuration for an installed service. */
export function writeMaterial(environment: QuickstartEnvironment, material: string): void {
  const { configFile } = environment.description();
  cpSync(environment.directory, material, { recursive: true });
  writeFileSync(
    join(material, 'signetd.yaml'),
    configured(readFileSync(configFile, 'utf8').replaceAll(environment.directory, '/etc/signetd')),
  );
}

/** The quickstart's configuration for two users, sockets and credentials. */
function configured(text: string): string {
  const config = parse(text) as Record<string, Record<string, Record<string, unknown>>>;
  const { listeners, limits, token, certificateAuthorities, timeStampAuthority, tenants } = config;
  return stringify({
    listeners: {
      ...listeners,
      api: { ...listeners?.['api'], key: 'credential:tls-key', port: 8443 },
      operations: { port: 9443 },
      public: { port: 8080 },
    },
    limits,
    token: { profile: 'softhsm2', label: token?.['label'], pin: 'credential:pin', clientUser: 'signetd' },
    admin: { access: 'group' },
    certificateAuthorities,
    timeStampAuthority,
    tenants: withoutNeighbours(tenants ?? {}),
  });
}

/** Tenants of a quickstart where its identity provider and its gateways for messages are not installed. */
export function withoutNeighbours(tenants: Record<string, Record<string, unknown>>): Record<string, Record<string, unknown>> {
  const served = Object.entries(tenants).filter(([, tenant]) => tenant['otpDelivery'] !== 'MESSAGE');
  return Object.fromEntries(served.map(([name, tenant]) => [name, { ...tenant, identityProviders: undefined }]));
}
