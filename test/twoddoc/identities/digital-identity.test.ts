import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../../src/clients/caller.ts';
import { headerFault, maySignType, readDigitalIdentity, type DigitalIdentity } from '../../../src/twoddoc/identities/digital-identity.ts';
import { readCertificate } from '../../../src/x509/certificate.ts';
import { ScratchAuthority, type IssueOptions } from '../../support/scratch-authority.ts';

const demo = tenantId('demo');
const dayMs = 86_400_000;
const header = { ca: 'FR99', certificate: 'ABCD', type: '01' };

let directory: string;
let authority: ScratchAuthority;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-identity-'));
  authority = new ScratchAuthority(directory, 'FR99');
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

function issued(options: IssueOptions = {}, name = 'ABCD'): string {
  return authority.issue(name, { extendedKeyUsage: '', ...options }).certificate;
}

function identityOf(certificate: string, types?: string[]): DigitalIdentity {
  return readDigitalIdentity(demo, { ca: 'FR99', certificateId: 'ABCD', certificate, ...(types === undefined ? {} : { types }) });
}

describe('a configured digital identity', () => {
  it.each([
    ['P-256', 'sha256'],
    ['P-384', 'sha384'],
    ['P-521', 'sha512'],
  ])('has the curve of its certificate, %s, and the hash that goes with it', (curve, hash) => {
    const certificate = issued({ newKey: ['-newkey', 'ec', '-pkeyopt', `ec_paramgen_curve:${curve}`] });
    const identity = identityOf(certificate, ['01']);
    expect(identity).toMatchObject({ tenant: 'demo', ca: 'FR99', certificateId: 'ABCD', curve, algorithm: { scheme: 'ECDSA', hash } });
    expect(identity.reference).toBe(identity.certificate.sha1Fingerprint);
    expect(identity.reference).toMatch(/^[0-9a-f]{40}$/);
  });

  it('is read from DER, too', () => {
    const pem = issued();
    const file = join(directory, 'certificate.der');
    const base64 = readFileSync(pem, 'utf8').replaceAll(/-----[A-Z ]+-----|\s/g, '');
    writeFileSync(file, Buffer.from(base64, 'base64'));
    expect(identityOf(file).reference).toBe(identityOf(pem).reference);
  });

  it('is refused, with the reason, if its certificate does not fit', () => {
    const text = join(directory, 'text.pem');
    writeFileSync(text, 'no certificate');
    const rsa = issued({ newKey: ['-newkey', 'rsa:2048'] });
    const curve = issued({ newKey: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp256k1'] });
    expect(() => identityOf(join(directory, 'nothing.pem'))).toThrow(/no such file/);
    expect(() => identityOf(text)).toThrow(/not an X.509 certificate/);
    for (const file of [rsa, curve]) expect(() => identityOf(file)).toThrow(/not on one of the curves/);
    expect(() => identityOf(issued({}, 'WXYZ'))).toThrow('the common name is "WXYZ", not ABCD');
    const another = { ca: 'FR98', certificateId: 'ABCD', certificate: issued() };
    expect(() => readDigitalIdentity(demo, another)).toThrow('the issuer is "FR99", not the CA FR98');
  });
});

describe('the document types of an identity', () => {
  it.each(['ZZ', '29', 'B3'])('are those whose rules are known: not %s', (type) => {
    expect(() => identityOf(issued(), [type])).toThrow(`there are no documents of type ${type} that can be signed`);
  });

  it('are those that the configuration names; without any, all', () => {
    const certificate = issued();
    expect(['01', '02', 'A0'].map((type) => maySignType(identityOf(certificate, ['01', 'A0']), type))).toEqual([true, false, true]);
    expect(['01', '02', 'A0'].map((type) => maySignType(identityOf(certificate), type))).toEqual([true, true, true]);
  });

  it.each([
    ['Certigna', 'otherName:1.2.250.1.177.101.757;UTF8:Attestation_vaccinale', [], 'L1'],
    ['Certigna, a number that begins with 0', 'otherName:1.2.250.1.177.101.1;UTF8:Facture', [], '01'],
    ['IDnow', 'dirName:types', ['[types]', 'CN=01-Facture'], '01'],
  ])('are limited by a certificate that names one, as %s does', (_ca, subjectAltName, extensions, type) => {
    const certificate = issued({ subjectAltName, extensions });
    expect([...identityOf(certificate).certificateTypes]).toEqual([type]);
    expect(['01', 'L1', '02'].filter((one) => maySignType(identityOf(certificate), one))).toEqual([type]);
    expect(maySignType(identityOf(certificate, ['02']), type)).toBe(false);
    expect(maySignType(identityOf(certificate, ['02']), '02')).toBe(false);
  });

  it.each(['otherName:1.2.250.1.177.101.99999;UTF8:none', 'otherName:1.2.3.4;UTF8:01', 'DNS:example.org', 'dirName:types'])(
    'are not limited by another name, such as %s',
    (subjectAltName) => {
      const certificate = issued({ subjectAltName, extensions: ['[types]', 'CN=Facture'] });
      expect(identityOf(certificate).certificateTypes.size).toBe(0);
    },
  );

  it('are those of the certificates that a CA issued for the specification', () => {
    interface Samples {
      readonly certificates: Record<string, string>;
    }
    const file = new URL('certificates.json', import.meta.url);
    const { certificates } = JSON.parse(readFileSync(file, 'utf8')) as Samples;
    const types = Object.entries(certificates).map(([name, pem]) => {
      const path = join(directory, `${name.replace('/', '-')}.pem`);
      writeFileSync(path, pem);
      const [ca = '', certificateId = ''] = name.split('/');
      return [name, ...readDigitalIdentity(demo, { ca, certificateId, certificate: path }).certificateTypes];
    });
    expect(types).toEqual([['FR00/0001'], ['FR03/AV01', 'L1'], ['FR03/AHP1', 'B2']]);
  });
});

describe('an identity may not sign a header', () => {
  const at = new Date();

  it('that names another CA, another certificate, or a type that it does not sign', () => {
    const identity = identityOf(issued(), ['01', '02']);
    expect(headerFault(identity, header, at)).toBeUndefined();
    expect(headerFault(identity, { ...header, ca: 'FR98' }, at)).toMatch(/names the CA FR98, but the signer's certificate is from "FR99"/);
    expect(headerFault(identity, { ...header, certificate: 'WXYZ' }, at)).toMatch(/names the certificate WXYZ/);
    expect(headerFault(identity, { ...header, type: '03' }, at)).toBe('the identity does not sign documents of type 03, only 01, 02');
  });

  it('of a type that its certificate does not name', () => {
    const identity = identityOf(issued({ subjectAltName: 'otherName:1.2.250.1.177.101.757;UTF8:x' }), ['01', 'L1']);
    expect(headerFault(identity, { ...header, type: 'L1' }, at)).toBeUndefined();
    expect(headerFault(identity, header, at)).toBe('the identity does not sign documents of type 01, only L1');
  });

  it('whose date is before or after the validity of its certificate, of which the first and the last day count as a whole', () => {
    const from = new Date(Date.UTC(2025, 2, 10, 15));
    const until = new Date(Date.UTC(2025, 2, 20, 9));
    const identity = identityOf(issued({ from, until }));
    const fault = (day: number): string | undefined => headerFault(identity, header, new Date(Date.UTC(2025, 2, day)));
    expect([10, 15, 20].map(fault)).toEqual([undefined, undefined, undefined]);
    expect(fault(9)).toBe("the zone's signature date is 2025-03-09, but the certificate of the identity is valid only from 2025-03-10");
    expect(fault(21)).toBe("the zone's signature date is 2025-03-21, but the certificate of the identity was valid only until 2025-03-20");
    expect(headerFault(identity, header, new Date(until.getTime() + dayMs))).toBeDefined();
    expect(headerFault(identity, header, undefined)).toBeUndefined();
  });
});

it('the fingerprint of an identity is that of its certificate', () => {
  const certificate = issued();
  const base64 = readFileSync(certificate, 'utf8').replaceAll(/-----[A-Z ]+-----|\s/g, '');
  expect(identityOf(certificate).reference).toBe(readCertificate(Buffer.from(base64, 'base64')).sha1Fingerprint);
});
