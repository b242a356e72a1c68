import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, directory, messageOf, root, subject, type ClientName, textOf } from '../support/api.ts';
import { openssl } from '../support/openssl.ts';

const create = async (client: ClientName, changes: Record<string, unknown> = {}, more: object = {}) =>
  call(client, 'pki/createCertificate', { ...certificateRequest(changes), ...more });
const pkcs10 = (subjectChanges: object, attributes: object = { subscriber: {} }) => ({
  PKCS10: { attributes, subject: { ...subject, ...subjectChanges } },
});
const chain = (): Buffer => Buffer.concat([readFileSync(root), readFileSync(join(directory, 'pki', 'issuing.pem'))]);
const x509 = (certificate: string, ...args: string[]): string =>
  openssl(['x509', '-inform', 'DER', '-in', '{cert}', '-noout', ...args], { cert: Buffer.from(certificate, 'base64') });

describe('createCertificate', () => {
  it.each([
    ['app', 'rsaEncryption', '2048 bit'],
    ['other', 'id-ecPublicKey', 'prime256v1'],
    ['p384', 'id-ecPublicKey', 'secp384r1'],
  ] as const)(
    "makes a key of the tenant's type for %s, with a certificate that OpenSSL verifies strictly",
    async (client, algorithm, detail) => {
      const { body } = await create(client, {}, { requestID: 'r' });
      expect(body).toEqual({
        result: { majorCode: 0, minorCode: 0, message: 'success' },
        requestID: 'r',
        keyReference: {
          reference: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
          password: expect.stringMatching(/^.{22,}$/) as string,
        },
        certificate: expect.any(String) as string,
        certificateFormat: 'CERTIFICATE',
        name: 'CN=Camille Martin,C=FR',
      });
      const certificate = textOf(body['certificate']);
      const text = x509(certificate, '-text');
      expect(text).toContain(algorithm);
      expect(text).toContain(detail);
      expect(text).toMatch(/Key Usage: critical\s+Non Repudiation/);
      expect(x509(certificate, '-fingerprint', '-sha1').replaceAll(':', '').toLowerCase()).toContain(
        textOf(body['keyReference']?.['reference']),
      );
      const verdict = openssl(['verify', '-x509_strict', '-CAfile', '{chain}', '{cert}'], {
        chain: chain(),
        cert: openssl(['x509', '-inform', 'DER', '-in', '{der}'], { der: Buffer.from(certificate, 'base64') }),
      });
      expect(verdict).toContain(': OK');
    },
  );

  it('gives the certificate alone or with its chain as PKCS #7', async () => {
    for (const [format, count] of [
      ['PKCS_7', 1],
      ['PKCS_7_WITH_CHAIN', 3],
    ] as const) {
      const { body } = await create('other', {}, { certificateFormat: format });
      const listing = openssl(['pkcs7', '-inform', 'DER', '-in', '{p7}', '-print_certs', '-noout'], {
        p7: Buffer.from(textOf(body['certificate']), 'base64'),
      });
      expect(listing.match(/^subject=/gm)?.length).toBe(count);
      expect(body['certificateFormat']).toBe(format);
    }
  });

  it('puts every field of the subject in, as literal text', async () => {
    const fields = {
      title: 'Directrice',
      organizationName: 'Société "Générale", CN=x',
      organizationUnit: ['Achats', '#0c0161'],
      organizationIdentifier: 'NTRFR-552120222',
      givenName: 'Zoé',
      surName: "L'Été",
      serialNumber: 'S-1',
      phoneNumber: '+33123456789',
      localityName: 'Paris',
      stateName: 'Île-de-France',
      DNQualifier: 'q1',
      commonName: 'Zoé + Ltd, O=évil',
      fields: {
        nameField: [
          { identifier: 'street', identifierType: 'NAME', value: '1 rue de la Paix' },
          { identifier: '2.5.4.17', identifierType: 'OID', value: '75002' },
        ],
      },
    };
    const { body } = await create(
      'other',
      pkcs10(fields, {
        subscriber: { emailAddress: 'zoe@example.org', phoneNumber: '+33123456789' },
        extensionRequest: { subjectAlternativeName: { generalName: [{ RFC822Name: 'zoe@example.org' }] } },
      }),
    );
    expect(messageOf({ body } as never)).toBe('success');
    const shown = x509(textOf(body['certificate']), '-subject', '-nameopt', 'sep_multiline,utf8,lname', '-ext', 'subjectAltName');
    for (const value of [
      'Directrice',
      'Société "Générale", CN=x',
      'Achats',
      '#0c0161',
      'NTRFR-552120222',
      'Zoé',
      "L'Été",
      'S-1',
      '+33123456789',
      'Paris',
      'Île-de-France',
      'q1',
      'Zoé + Ltd, O=évil',
      '1 rue de la Paix',
      '75002',
    ]) {
      expect(shown).toContain(`=${value}\n`);
    }
    expect(shown).toContain('email:zoe@example.org');
  });

  it('cuts the validity to what the profile allows', async () => {
    for (const [validityPeriod, minutes] of [
      [undefined, 60],
      [5, 5],
      [1_000_000, 1440],
    ] as const) {
      const { body } = await create('other', validityPeriod === undefined ? {} : { validityPeriod });
      const [start, end] = x509(textOf(body['certificate']), '-dates')
        .trim()
        .split('\n')
        .map((line) => Date.parse(line.slice(line.indexOf('=') + 1)));
      expect((Number(end) - Number(start)) / 60_000).toBe(minutes);
    }
  });

  it.each([
    ['1/101', 'no protocol', { signatureActivationProtocol: undefined }],
    ['1/102', 'a protocol that is none', { signatureActivationProtocol: 'TELEPATHY' }],
    ['1/103', 'neither JWT nor PKCS10', { PKCS10: undefined }],
    ['1/103', 'JWT and PKCS10', { JWT: { token: 'x' } }],
    ['1/102', 'a JWT that is none', { PKCS10: undefined, JWT: { token: 'x' } }],
    ['1/102', 'a transaction without a name', { transactionId: '' }],
    ['1/102', 'half a minute', { validityPeriod: 60.5 }],
    ['1/102', 'no time at all', { validityPeriod: 0 }],
    ['1/102', 'a time as text', { validityPeriod: '60' }],
    ['1/102', 'an unknown country', pkcs10({ country: 'XX' })],
    ['1/101', 'no country', pkcs10({ country: undefined })],
    ['1/102', 'an empty name', pkcs10({ commonName: '' })],
    ['1/102', 'a name of 65 characters', pkcs10({ commonName: 'x'.repeat(65) })],
    ['1/102', 'a name with a control character', pkcs10({ commonName: 'a\u0000b' })],
    ['1/102', 'a name with a space at its end', pkcs10({ commonName: 'a ' })],
    [
      '1/102',
      'a name attribute that nobody knows',
      pkcs10({ fields: { nameField: [{ identifier: 'nosuch', identifierType: 'NAME', value: 'x' }] } }),
    ],
    ['1/101', 'no subscriber', pkcs10({}, {})],
    ['1/102', 'an e-mail address that is none', pkcs10({}, { subscriber: { emailAddress: 'nobody' } })],
    ['1/102', 'a phone number that is none', pkcs10({}, { subscriber: { phoneNumber: '0123' } })],
    [
      '2/213',
      'an extension that the profile does not allow',
      pkcs10({}, { subscriber: {}, extensionRequest: { extension: [{ identifier: '2.5.29.30', value: 'MAA=' }] } }),
    ],
    [
      '2/213',
      'an attribute that the profile does not allow',
      pkcs10({}, { subscriber: {}, attribute: [{ identifier: '1.2.3', value: 'BQA=' }] }),
    ],
    ['1/102', 'a misspelt member', { validityperiod: 5 }],
  ])('answers %s to %s', async (code, _name, changes) => {
    expect(codeOf(await create('other', changes))).toBe(code);
  });

  it.each([
    ['/certificationRequestInfo/validityPeriod: this must be more than 0', { validityPeriod: 0 }],
    ['/certificationRequestInfo/validityPeriod: this must be a whole number', { validityPeriod: 60.5 }],
    [
      '/certificationRequestInfo/PKCS10/subject/country: not an ISO 3166-1 country code (two upper-case letters)',
      pkcs10({ country: 'XX' }),
    ],
    [
      '/certificationRequestInfo/PKCS10/attributes/any/x: not an object identifier such as 2.5.29.17',
      pkcs10({}, { subscriber: {}, any: { x: 'BQA=' } }),
    ],
    ['/certificationRequestInfo/PKCS10/subject/commonName: contains a control or invisible character', pkcs10({ commonName: 'a\u202eb' })],
  ])('says %s', async (message, changes) => {
    const answer = await create('other', changes);
    expect([codeOf(answer), messageOf(answer)]).toEqual(['1/102', message]);
  });

  it.each([
    ['1/101', { certificateFormat: undefined }],
    ['1/102', { certificateFormat: 'PEM' }],
    ['1/102', { signerData: { digest: [] } }],
    ['1/102', { signerData: { digest: [{ id: 'x', digestAlgOID: 'x', digestValue: 'x' }] } }],
    ['1/102', { requestID: 7 }],
  ])('answers %s to %o', async (code, more) => {
    expect(codeOf(await create('other', {}, more))).toBe(code);
  });
});
