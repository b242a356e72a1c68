import { describe, expect, it } from 'vitest';
import { commonName, hostExtensions, isHost, tlsKeyFault } from '../../src/certificates/tls-certificate.ts';
import { openssl } from '../support/openssl.ts';

describe('the names of a TLS server', () => {
  it.each([
    ['::1', '8710' + '0'.repeat(31) + '1'],
    ['2001:db8::5', '871020010db8' + '0'.repeat(23) + '5'],
    ['2001:DB8:1:2:3:4:5:6', '871020010db8000100020003000400050006'],
    ['::ffff:192.0.2.1', '8710' + '0'.repeat(20) + 'ffffc0000201'],
    ['192.0.2.1', '8704c0000201'],
    ['sign.example.org', `8210${Buffer.from('sign.example.org').toString('hex')}`],
  ])('%s is encoded as RFC 5280 4.2.1.6 has it', (host, encoded) => {
    const [extension] = hostExtensions([host]);
    expect(isHost(host)).toBe(true);
    expect(Buffer.from(extension?.der ?? []).toString('hex')).toMatch(new RegExp(`${encoded}$`));
  });

  it.each(['fe80::1%eth0', '*.example.org', 'a b', '', 'example.org.', '1.2.3'.repeat(60)])('%o is none', (host) => {
    expect(isHost(host)).toBe(false);
  });
});

it.each(['', ' app', 'app ', 'a\nb', 'a\u202eb', 'x'.repeat(65)])('%o is no common name', (text) => {
  expect(commonName(text)).toBeUndefined();
});

it.each([
  ['RSA', 'rsa_keygen_bits:1024', /too short/],
  ['RSA', 'rsa_keygen_bits:2048', undefined],
  ['EC', 'ec_paramgen_curve:secp256k1', /P-256/],
  ['EC', 'ec_paramgen_curve:P-521', undefined],
] as const)('a %s key of %s', (algorithm, option, fault) => {
  const key = openssl(['genpkey', '-quiet', '-algorithm', algorithm, '-pkeyopt', option]);
  const spki = openssl(['pkey', '-in', '{key}', '-pubout', '-outform', 'DER', '-out', 'out'], { key }, 'out');
  const found = tlsKeyFault(spki);
  if (fault === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(fault);
});
