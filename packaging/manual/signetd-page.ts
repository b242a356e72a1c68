import { bold, italic, manualPage, roff } from './roff.ts';

const units = [
  ['signetd.service', 'The daemon, as user signetd.'],
  ['signetd-token.service', 'The token host, as user signetd-token; it alone has the PIN, and loads the PKCS #11 module.'],
  ['signetd-api.socket', 'The JSON API over mutual TLS, port 8443.'],
  ['signetd-operations.socket', 'Health and metrics, 127.0.0.1:9443.'],
  ['signetd-public.socket', 'CRLs, OCSP and time-stamps over plain HTTP, port 8080; enabled if listeners.public is configured.'],
] as const;

const files = [
  ['/etc/signetd/signetd.yaml', 'The configuration. No unit starts before it exists.'],
  [
    '/etc/credstore.encrypted/signetd.*',
    'The PIN (signetd.pin), the TLS key (signetd.tls-key) and other secrets, encrypted with systemd-creds.',
  ],
  ['/var/lib/signetd', 'The state store and the transfer store.'],
  ['/var/log/signetd', 'The audit log.'],
  ['/var/lib/signetd-token', 'The account of the token host, and a software token.'],
  ['/usr/share/doc/signetd', 'The documents; installation.md comes first.'],
] as const;

/** signetd(8). */
export function signetdPage(version: string, date: string): string {
  return manualPage({
    name: 'signetd',
    section: 8,
    purpose: 'signing daemon with keys on a PKCS #11 token',
    date,
    version,
    lines: [
      '.SH SYNOPSIS',
      '.B systemctl start signetd.service',
      '.SH DESCRIPTION',
      roff(
        'signetd creates keys and short-lived certificates, and signs documents, for applications that call its JSON API over mutual TLS.',
      ),
      roff('Private keys are generated on a PKCS #11 token, such as an HSM, and never leave it.'),
      '.PP',
      roff(
        'A stop or a restart loses no request: the daemon first answers all it has accepted, while systemd keeps new connections waiting.',
      ),
      roff('A reload (SIGHUP) applies the whole new configuration or keeps the old one.'),
      '.SH UNITS',
      ...units.flatMap(([unit, text]) => ['.TP', bold(unit), roff(text)]),
      '.SH EXIT STATUS',
      ...[
        ['1', 'The start failed; systemd tries again, after a while that grows up to a minute.'],
        ['69', 'Token host: the token lacks a required feature.'],
        ['70', 'Token host: the token is not there, or its module fails; systemd tries again, as after 1.'],
        ['77', 'Token host: the token refuses the PIN, or did so before. The same PIN is not presented again (signetctl token retry-pin).'],
        [
          '78',
          'The configuration is not valid, or its listeners do not fit the sockets. The daemon is not started again, and its sockets go down; systemctl restart signetd brings them back.',
        ],
      ].flatMap(([code = '', text = '']) => ['.TP', bold(code), roff(text)]),
      '.SH FILES',
      ...files.flatMap(([path, text]) => ['.TP', italic(path), roff(text)]),
    ],
    seeAlso: [
      ['signetctl', 1],
      ['systemd-creds', 1],
      ['signetd.yaml', 5],
    ],
  });
}
