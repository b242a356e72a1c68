import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import { octetString } from '../../src/asn1/der.ts';
import { PdfString } from '../../src/pdf/objects.ts';
import { readSignedData } from '../../src/cms/read-signed-data.ts';
import { signedData } from '../../src/cms/signed-data.ts';
import { Refusal } from '../../src/result-codes.ts';
import { obsoleteNotice } from '../../src/signatures/format.ts';
import { checkEarlierSignatures as checkPdf } from '../../src/signatures/pades/verify/earlier-signatures.ts';
import { completeAtOnce, evidenceNotices } from '../../src/signatures/signatures.ts';
import { prepareAtOnce } from '../../src/signatures/prepare-signatures.ts';
import { envelopedFormat } from '../../src/signatures/xades/enveloped.ts';
import { openssl } from '../support/openssl.ts';
import { smallPdf } from '../support/small-pdf.ts';
import { signedByHand } from './pades/verify/revised-pdf.ts';
import {
  chainOf,
  documentOf,
  joined,
  keyPem,
  planOf,
  preparedCms,
  signerWith,
  softwareSigner,
  theOne,
  valueOf,
  type SoftwareSigner,
} from './software-signer.ts';
import { documentNamed, envelopedParameters } from './xades/xades-signer.ts';
import { xmlsec1Signs } from './xades/xmlsec1.ts';

const own = softwareSigner('co-signer');
const rsa = (modulusLength: number): SoftwareSigner =>
  signerWith(generateKeyPairSync('rsa', { modulusLength }).privateKey, `RSA ${modulusLength}`);
const onCurve = (namedCurve: string): SoftwareSigner => signerWith(generateKeyPairSync('ec', { namedCurve }).privateKey, namedCurve);
const signers = new Map<string, SoftwareSigner>();
/** One signer for each key: they take time to make. */
function signerOf(kind: string): SoftwareSigner {
  const known = signers.get(kind) ?? (kind.startsWith('RSA') ? rsa(Number(kind.slice(4))) : onCurve(kind));
  signers.set(kind, known);
  return known;
}

function cms({ pem, privateKey }: SoftwareSigner, content: Uint8Array, hash: string, options: readonly string[] = []): Buffer {
  const files = { content, pem, key: keyPem(privateKey) };
  const out = ['-signer', '{pem}', '-inkey', '{key}', '-md', hash, '-outform', 'DER', '-out', 'out'];
  return Buffer.from(openssl(['cms', '-sign', '-binary', '-in', '{content}', ...out, ...options], files, 'out'));
}

const ds = 'http://www.w3.org/2000/09/xmldsig#';
const more = 'http://www.w3.org/2001/04/xmldsig-more#';
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
function xml({ pem, privateKey }: SoftwareSigner, hash: string, digest = hash): Buffer {
  const kind = privateKey.asymmetricKeyType === 'ec' ? 'ecdsa' : 'rsa';
  const method = hash === 'sha1' && kind === 'rsa' ? `${ds}rsa-sha1` : `${more}${kind}-${hash}`;
  const namespaces: Readonly<Record<string, string>> = { sha1: ds, sha384: more };
  const digestUri = `${namespaces[digest] ?? 'http://www.w3.org/2001/04/xmlenc#'}${digest}`;
  const transforms = `<Transforms><Transform Algorithm="${exclusive}"/></Transforms>`;
  const reference = `<Reference URI="#p1">${transforms}<DigestMethod Algorithm="${digestUri}"/><DigestValue/></Reference>`;
  const signedInfo = `<SignedInfo><CanonicalizationMethod Algorithm="${exclusive}"/><SignatureMethod Algorithm="${method}"/>${reference}</SignedInfo>`;
  const signature = `<Signature xmlns="${ds}">${signedInfo}<SignatureValue/><KeyInfo><X509Data/></KeyInfo></Signature>`;
  return xmlsec1Signs(`<doc><Part Id="p1">signed</Part><Other/>${signature}</doc>`, keyPem(privateKey), pem);
}

const pdf = (signer: SoftwareSigner, hash: string): Buffer => signedByHand(smallPdf(), { value: (covered) => cms(signer, covered, hash) });

/** What `validateSignatures` says of a document: the refusal, or the notice with the success. */
const verifiers: Readonly<Record<string, (kind: string, hash: string) => string | undefined>> = {
  CAdES: (kind, hash) => preparedCms(own, cms(signerOf(kind), Buffer.from('signed'), hash, ['-nodetach']), { coSigning: 'CHECKED' }).notice,
  XAdES: (kind, hash) => {
    const parameters = envelopedParameters({ validates: true, position: { expression: '//Other', namespaces: {} } });
    return theOne(envelopedFormat.prepare([documentNamed(xml(signerOf(kind), hash))], parameters, chainOf(own), { now: new Date() }))
      .notice;
  },
  PAdES: (kind, hash) => obsoleteNotice(checkPdf(bytesInMemory(pdf(signerOf(kind), hash)), undefined, '/inputDocuments/0')),
};

describe.each(Object.entries(verifiers))('validateSignatures of %s', (_format, verify) => {
  const refused = (kind: string, hash: string): Refusal => {
    try {
      verify(kind, hash);
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
    throw new Error('it is taken');
  };

  it.each([
    ['RSA-512', 'sha1', /by a key of 512 bits, fewer than 1024/],
    ['RSA-768', 'sha256', /by a key of 768 bits/],
    ['RSA-1016', 'sha256', /by a key of 1016 bits/],
    ['P-192', 'sha256', /curve that this service does not know|cannot read/],
    ['secp160k1', 'sha1', /curve that this service does not know|cannot read/],
  ])('refuses %s with %s', (kind, hash, why) => {
    const { code, message } = refused(kind, hash);
    expect([code, message]).toEqual(['EXISTING_SIGNATURE_INVALID', expect.stringMatching(why)]);
  });

  it.each([
    ['RSA-1024', 'sha256', 'uses a key of 1024 bits'],
    ['RSA-1024', 'sha1', 'uses SHA-1 and a key of 1024 bits'],
    ['RSA-2040', 'sha512', 'uses a key of 2040 bits'],
    ['RSA-2048', 'sha1', 'uses SHA-1'],
    ['P-256', 'sha1', 'uses SHA-1'],
  ])('takes %s with %s, and says so', (kind, hash, what) => {
    const notice = verify(kind, hash);
    expect(notice).toMatch(/^existing signatures hold, but use obsolete algorithms: /);
    expect(notice).toMatch(new RegExp(`${what}$`));
  });

  it.each([
    ['RSA-2048', 'sha256'],
    ['P-224', 'sha256'],
    ['P-256', 'sha384'],
    ['P-521', 'sha512'],
  ])('takes %s with %s without a word', (kind, hash) => {
    expect(verify(kind, hash)).toBeUndefined();
  });
});

describe('obsolete algorithms of existing signatures', () => {
  it('are those of the references of an XML signature too', () => {
    const document = xml(signerOf('RSA-2048'), 'sha256', 'sha1');
    const parameters = envelopedParameters({ validates: true, position: { expression: '//Other', namespaces: {} } });
    const prepared = envelopedFormat.prepare([documentNamed(document)], parameters, chainOf(own), { now: new Date() });
    expect(theOne(prepared).notice).toContain('signature 1 uses SHA-1');
  });

  it('are those by which older formats of PDF cover the file', () => {
    const key: KeyObject = signerOf('RSA-2048').privateKey;
    const { certificate } = signerOf('RSA-2048');
    const raw = signedByHand(smallPdf(), {
      subFilter: 'adbe.x509.rsa_sha1',
      entries: { Cert: new PdfString(certificate.der) },
      value: (covered) => octetString(sign('sha1', covered, key)),
    });
    expect(checkPdf(bytesInMemory(raw), undefined, '')).toEqual([expect.stringMatching(/^the signature "Hand\d+" uses SHA-1$/)]);
  });

  it('of raw values in PDF have the same minimum of key lengths, and of exponents', () => {
    for (const [privateKey, why] of [
      [signerOf('RSA-768').privateKey, 'by a key of 768 bits'],
      [generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).privateKey, 'does not verify'],
    ] as const) {
      const { certificate } = signerWith(privateKey, 'raw');
      const raw = signedByHand(smallPdf(), {
        subFilter: 'adbe.x509.rsa_sha1',
        entries: { Cert: new PdfString(certificate.der) },
        value: (covered) => octetString(sign('sha1', covered, privateKey)),
      });
      expect(() => checkPdf(bytesInMemory(raw), undefined, '')).toThrow(why);
    }
  });

  it('are named with the success, beside the document that has them', () => {
    const old = cms(signerOf('RSA-1024'), Buffer.from('signed'), 'sha256', ['-nodetach']);
    const documents = [
      { ...documentOf(old), id: 'old' },
      { ...documentOf(Buffer.from('text')), id: 'new' },
    ];
    const prepared = prepareAtOnce(planOf(own, { coSigning: 'CHECKED' }), documents);
    if (prepared === undefined) throw new Error('small documents are prepared at once');
    const notice = '"old": existing signatures hold, but use obsolete algorithms: signature 1 of 1 uses a key of 1024 bits';
    expect(evidenceNotices(prepared.prepared)).toEqual([`document ${notice}`]);
    const values = new Map(prepared.prepared.map((one) => [one.id, valueOf(own, one)]));
    expect(evidenceNotices(completeAtOnce(prepared, values) ?? [])).toEqual([`document ${notice}`]);
  });

  it('and the rest of the signatures are verified in a thread if that takes long, however small the document is', () => {
    const isQuick = (kind: string, signatures: number): boolean => {
      const { signerInfos, ...parts } = readSignedData(
        bytesInMemory(cms(signerOf(kind), Buffer.from('signed'), 'sha512', ['-nodetach', '-noattr'])),
      );
      const [one = new Uint8Array()] = signerInfos;
      const many = Array.from({ length: signatures }, () => one);
      const document = joined(signedData({ ...parts, content: [Buffer.from('signed')], signerInfos: many }));
      expect(document.length).toBeLessThan(4096);
      return prepareAtOnce(planOf(own, { coSigning: 'CHECKED' }), [documentOf(document)]) !== undefined;
    };
    expect([isQuick('P-521', 1), isQuick('P-521', 2)]).toEqual([true, false]);
    expect([isQuick('P-256', 10), isQuick('P-384', 2), isQuick('P-384', 3)]).toEqual([true, true, false]);
  });

  it('of many signatures are not all listed', () => {
    const notice = obsoleteNotice(Array.from({ length: 500 }, (_, index) => `signature ${index + 1} of 500 uses SHA-1`));
    expect(notice).toMatch(/signature 10 of 500 uses SHA-1, and 490 more$/);
    expect(obsoleteNotice([])).toBeUndefined();
  });
});

describe('a SignedData with a hash that is older than SHA-1', () => {
  it.each([
    ['md5', 'signature 1 of 1 uses an unsupported hash: MD5'],
    ['md4', 'signature 1 of 1 uses an unsupported hash: MD4'],
    ['rmd160', 'signature 1 of 1 uses an unsupported hash: 1.3.36.3.2.1'],
  ])('is refused by name: %s', (hash, what) => {
    // OpenSSL makes the structure; the OID of the hash is replaced where OpenSSL no longer has it.
    const document = cms(signerOf('RSA-2048'), Buffer.from('signed'), hash === 'md4' ? 'md5' : hash, ['-nodetach']);
    const md5 = Buffer.from('2a864886f70d0205', 'hex');
    if (hash === 'md4') for (let at = document.indexOf(md5); at >= 0; at = document.indexOf(md5, at)) document[at + 7] = 4;
    expect(() => preparedCms(own, document, { coSigning: 'CHECKED' })).toThrow(
      expect.objectContaining({
        code: 'EXISTING_SIGNATURE_INVALID',
        message: `/inputDocuments/0: an existing signature of the document: ${what}`,
      }) as Error,
    );
  });
});
