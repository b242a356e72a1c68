import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as der from '../../src/asn1/der.ts';
import { certificateList } from '../../src/certificates/crl/certificate-list.ts';
import { certificateExtensions } from '../../src/certificates/extensions.ts';
import { basicResponse, type CertStatus, type ResponseContent } from '../../src/certificates/ocsp/ocsp-response.ts';
import { responderCertificate } from '../../src/certificates/ocsp/responder-certificate.ts';
import { issueCertificate, rehearse, validity } from '../../src/certificates/issue.ts';
import { Pkcs10 } from '../../src/certificates/pkcs10.ts';
import { checkSubject } from '../../src/certificates/subject-rules.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { keyTypes, type KeyType } from '../../src/config/key-types.ts';
import { CertificateProfile } from '../../src/config/profile.ts';
import { columnsOf } from '../certificates/crl/revoked.ts';
import { pem } from '../certificates/openssl.ts';
import { certId } from '../certificates/ocsp/requests.ts';
import { rootKeyTypes, rootSamples } from './root-samples.ts';
import { signing, softwareAuthority, softwareKey, softwareKeyTypes, type SoftwareAuthority } from '../certificates/software-authority.ts';

/**
 * Writes certificates of every profile × key type × kind of subject, the authorities, a root and its successor, CRLs, OCSP responders and their answers into the directory given, and `samples.tsv`: a line for each
 * with the file, its issuer and the linter's profile.
 */
const directory = process.argv[2] ?? '';
if (directory === '') throw new Error('usage: certificate-samples.ts DIRECTORY');
mkdirSync(directory, { recursive: true });

const urls = {
  crl: ['http://pki.example.org/pki/issuing.crl'],
  ocsp: ['http://pki.example.org/ocsp/issuing'],
  caIssuers: ['http://pki.example.org/pki/issuing.cer'],
};
const disclosureStatements = [
  { url: 'https://pki.example.org/pds-en.pdf', language: 'en' },
  { url: 'https://pki.example.org/pds-fr.pdf', language: 'fr' },
];
const dateOfBirth = { identifier: '1.3.6.1.5.5.7.9.1', value: base64(der.generalizedTime(new Date('1990-02-03T12:00:00Z'))) };
const mailbox = { subjectAlternativeName: { generalName: [{ RFC822Name: 'zoe.martin@example.org' }] } };

interface Sampled {
  readonly lint: string;
  readonly profile: object;
  readonly attributes: object;
  readonly subjects: Readonly<Record<string, object>>;
}

const natural = { country: 'FR', commonName: 'Zoé Martin', givenName: 'Zoé', surName: 'Martin', serialNumber: 'PNOFR-2900275000001' };
const legal = {
  country: 'FR',
  commonName: 'Société "X", CN=y',
  organizationName: 'Société "X", CN=y',
  organizationIdentifier: 'NTRFR-552120222',
};
const anything = {
  smallest: { country: 'FR', commonName: 'x' },
  unicode: {
    country: 'JP',
    commonName: '山田 太郎 😀 שלום e\u0301',
    organizationName: 'a+b=c;<d>\\e#',
    organizationUnit: ['#0c0161', 'x", CN=y'],
  },
  everything: {
    ...natural,
    title: 'Directrice',
    organizationName: 'Société Générale d’Exemple',
    organizationIdentifier: 'VATFR-12345678901',
    organizationUnit: ['Achats', '0002 552120222'],
    phoneNumber: '+33 1 23 45 67 89',
    localityName: 'Paris',
    stateName: 'Île-de-France',
    DNQualifier: 'q-1',
    fields: {
      nameField: [
        { identifier: 'street', identifierType: 'NAME', value: '1 rue de la Paix' },
        { identifier: 'postalCode', identifierType: 'NAME', value: '75002' },
        { identifier: 'initials', identifierType: 'NAME', value: 'Z. M.' },
        { identifier: 'uid', identifierType: 'NAME', value: 'zmartin' },
        { identifier: 'dc', identifierType: 'NAME', value: 'org' },
        { identifier: 'dc', identifierType: 'NAME', value: 'example' },
      ],
    },
  },
  longest: {
    country: 'FR',
    commonName: 'é'.repeat(64),
    organizationName: '組'.repeat(64),
    organizationUnit: ['u'.repeat(64)],
    title: 't'.repeat(64),
    localityName: 'l'.repeat(128),
    stateName: 's'.repeat(128),
    serialNumber: '9'.repeat(64),
    givenName: 'g'.repeat(256),
    surName: 's'.repeat(256),
  },
};

const sampled: Readonly<Record<string, Sampled>> = {
  plain: { lint: 'pkix', profile: {}, attributes: {}, subjects: anything },
  rich: {
    lint: 'pkix',
    profile: {
      keyUsage: ['digitalSignature', 'contentCommitment'],
      extendedKeyUsage: ['1.3.6.1.5.5.7.3.36', '1.3.6.1.5.5.7.3.4'],
      policies: ['1.3.6.1.4.1.99999.1', { policy: '1.3.6.1.4.1.99999.2', practiceStatementUrl: 'https://pki.example.org/cps' }],
      allowedDirectoryAttributes: [dateOfBirth.identifier],
    },
    attributes: { attribute: [dateOfBirth], extensionRequest: mailbox },
    subjects: { unicode: anything.unicode, everything: anything.everything },
  },
  naturalPerson: {
    lint: 'natural',
    profile: { policies: ['0.4.0.2042.1.1'], subject: { person: 'natural' } },
    attributes: { extensionRequest: mailbox },
    subjects: {
      named: natural,
      pseudonymous: {
        country: 'FR',
        commonName: 'zm:PN',
        fields: { nameField: [{ identifier: 'pseudonym', identifierType: 'NAME', value: 'zm' }] },
      },
    },
  },
  qualifiedSignature: {
    lint: 'qcp-n-qscd',
    profile: {
      policies: ['0.4.0.194112.1.2'],
      subject: { person: 'natural' },
      qcStatements: { compliance: true, sscd: true, types: ['esign'], disclosureStatements, semantics: 'natural', retentionYears: 10 },
    },
    attributes: {},
    subjects: { named: natural },
  },
  qualifiedSeal: {
    lint: 'etsi',
    profile: {
      policies: ['0.4.0.194112.1.3'],
      subject: { person: 'legal' },
      qcStatements: {
        compliance: true,
        sscd: true,
        types: ['eseal'],
        disclosureStatements,
        semantics: 'legal',
        limitValue: { currency: 'EUR', amount: 10, exponent: 3 },
      },
    },
    attributes: {},
    subjects: { organisation: legal },
  },
};

const statuses: Readonly<Record<string, CertStatus>> = {
  good: { kind: 'good' },
  unknown: { kind: 'unknown' },
  neverIssued: { kind: 'revoked', revokedAt: new Date(0), reason: 6 },
  unspecified: { kind: 'revoked', revokedAt: new Date('2026-01-02T03:04:05Z'), reason: 0 },
  compromised: { kind: 'revoked', revokedAt: new Date('2026-01-02T03:04:05Z'), reason: 1 },
};

const lines: string[] = [];
function write(name: string, text: string, issuer: string, lint: string): void {
  writeFileSync(join(directory, name), text);
  lines.push([name, issuer, lint].join('\t'));
}

for (const type of softwareKeyTypes) await sampleAuthority(type);
for (const type of rootKeyTypes) for (const { file, text, issuer } of await rootSamples(type)) write(file, text, issuer, 'pkix');
writeFileSync(join(directory, 'samples.tsv'), `${lines.join('\n')}\n`);

async function sampleAuthority(type: (typeof softwareKeyTypes)[number]): Promise<void> {
  const authority = await softwareAuthority(type);
  const root = `root-${type}.pem`;
  const issuing = `issuing-${type}.pem`;
  write(root, pem(authority.root), root, 'pkix');
  write(issuing, pem(authority.issuer.certificate.der), root, 'pkix');
  // Each authority has two of the six types of key.
  const mine = keyTypes.filter((_, index) => index % softwareKeyTypes.length === softwareKeyTypes.indexOf(type));
  for (const keyType of mine) {
    for (const [profileName, sample] of Object.entries(sampled)) {
      for (const [subjectName_, subject] of Object.entries(sample.subjects)) {
        const bytes = await certificate(authority, keyType, sample, subject);
        write(`${profileName}-${keyType}-${subjectName_}.pem`, pem(bytes), issuing, sample.lint);
      }
    }
  }
  for (const [name, count, keepExpired] of [
    ['empty', 0, false],
    ['all-reasons', 18, false],
    ['kept', 3, true],
  ] as const) {
    write(`crl-${type}-${name}.pem`, pem(await crl(authority, count, keepExpired), 'X509 CRL'), issuing, 'crl');
  }
  await sampleResponder(type, authority, issuing);
}

/** The certificate of an OCSP responder, and its answers, about one certificate and about all. */
async function sampleResponder(type: (typeof softwareKeyTypes)[number], { issuer }: SoftwareAuthority, issuing: string): Promise<void> {
  const key = softwareKey(type);
  const request = { authority: 'issuing', subjectPublicKeyInfo: key.subjectPublicKeyInfo, serialNumber: randomBytes(16) };
  const own = await responderCertificate(issuer, { ...request, now: Date.now(), lifetimeMs: 7 * 86_400_000 });
  write(`responder-${type}.pem`, pem(own), issuing, 'pkix');
  const signer = { ...signing(key), subjectPublicKeyInfo: key.subjectPublicKeyInfo, certificate: own };
  const single = (status: CertStatus) => ({ certId: certId(issuer.certificate, randomBytes(16).toString('hex'), 'sha256'), status });
  const answers: Record<string, Pick<ResponseContent, 'responses'> & Partial<ResponseContent>> = {
    several: { responses: Object.values(statuses).map(single), extendedRevoke: true, nonce: randomBytes(32) },
    archive: { responses: [single({ kind: 'good' })], archiveCutoff: issuer.certificate.notBefore },
  };
  for (const [name, status] of Object.entries(statuses)) {
    if (type === 'P-256') answers[name] = { responses: [single(status)], extendedRevoke: name === 'neverIssued' };
  }
  const thisUpdate = new Date(Math.floor(Date.now() / 1000) * 1000);
  const nextUpdate = new Date(thisUpdate.getTime() + 3_600_000);
  for (const [name, content] of Object.entries(answers)) {
    const answer = await basicResponse(signer, { extendedRevoke: false, thisUpdate, nextUpdate, ...content });
    write(`ocsp-${type}-${name}.pem`, pem(answer, 'OCSP RESPONSE'), issuing, 'ocsp');
  }
}

async function certificate({ issuer }: SoftwareAuthority, keyType: KeyType, sample: Sampled, subject: object): Promise<Uint8Array> {
  const profile = CertificateProfile.parse({ keyType, maxValidityMinutes: 1_000_000, defaultValidityMinutes: 500_000, ...sample.profile });
  const { attributes, subject: fields } = Pkcs10.parse({ attributes: { subscriber: {}, ...sample.attributes }, subject });
  checkSubject(profile, fields);
  const times = validity(profile, undefined, new Date(), issuer.certificate.notAfter);
  const content = (publicKey: Uint8Array) => ({
    subject: subjectName(fields),
    extensions: certificateExtensions(profile, issuer, publicKey, attributes, urls),
    ...times,
  });
  rehearse(issuer, keyType, content);
  const subjectPublicKeyInfo = publicKeyOf(keyType);
  return issueCertificate(issuer, { ...content(subjectPublicKeyInfo), subjectPublicKeyInfo, serialNumber: randomBytes(16) });
}

function publicKeyOf(keyType: KeyType): Uint8Array {
  const { publicKey } = keyType.startsWith('RSA-')
    ? generateKeyPairSync('rsa', { modulusLength: Number(keyType.slice('RSA-'.length)) })
    : generateKeyPairSync('ec', { namedCurve: keyType });
  return publicKey.export({ type: 'spki', format: 'der' });
}

async function crl({ issuer }: SoftwareAuthority, count: number, keepExpired: boolean): Promise<Uint8Array> {
  const { certificate: own, signatureAlgorithm, sign } = issuer;
  const { subject: name, subjectPublicKeyInfo, subjectKeyIdentifier, notBefore } = own;
  const thisUpdate = new Date(Math.floor(Date.now() / 1000) * 1000);
  const reasons = [0, 1, 2, 3, 4, 5, 6, 9, 10];
  const entries = Array.from({ length: count }, (_, index) => ({
    serialNumber: createHash('sha1').update(`${index}`).digest('hex').slice(0, 32),
    reason: reasons[index % reasons.length] ?? 0,
    revokedAt: new Date(thisUpdate.getTime() - index * 1000),
  }));
  return certificateList(
    { name, subjectPublicKeyInfo, subjectKeyIdentifier, signatureAlgorithm, sign },
    {
      number: 12,
      thisUpdate,
      nextUpdate: new Date(thisUpdate.getTime() + 86_400_000),
      revoked: columnsOf(entries),
      ...(keepExpired ? { expiredFrom: notBefore } : {}),
    },
  );
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
