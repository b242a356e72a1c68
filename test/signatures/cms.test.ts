import { createHash, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readAll, children } from '../../src/asn1/reader.ts';
import { parseCertificate } from '../../src/certificates/x509.ts';
import type { Content } from '../../src/documents/content.ts';
import { contentPieces } from '../../src/documents/content-pieces.ts';
import { cmsFormat } from '../../src/signatures/cms/cms.ts';
import { rawFormat } from '../../src/signatures/raw/raw.ts';
import { openssl } from '../support/openssl.ts';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = openssl(['req', '-x509', '-key', '{key}', '-subj', '/CN=software signer', '-days', '2'], {
  key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
});
const certificate = parseCertificate(Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'));
const signer = {
  certificate,
  publicKey: createPublicKey({ key: Buffer.from(certificate.subjectPublicKeyInfo), format: 'der', type: 'spki' }),
  issuers: [certificate.der],
};
const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
const moment = { now: new Date('2026-01-02T03:04:05.678Z') };
const document = { id: 'd', fileName: undefined, source: { content: Buffer.from('content') } };
const valueOf = (data: Uint8Array | undefined): Buffer =>
  sign('sha256', data ?? Buffer.alloc(0), { key: privateKey, dsaEncoding: 'ieee-p1363' });

const joined = (pieces: readonly Content[]): Buffer =>
  Buffer.concat(pieces.flatMap((piece) => Array.from(contentPieces(piece), (part) => Buffer.from(part))));

describe('cmsFormat with a software key', () => {
  it('prepares the same bytes for the same input and time, attributes in DER order', () => {
    const [first, second] = [0, 1].map(() => cmsFormat.prepare(document, { algorithm, detached: true }, signer, moment));
    expect(first).toEqual(second);
    const attributes = children(readAll(first?.dataToSign ?? new Uint8Array())).map(({ raw }) => Buffer.from(raw));
    expect(attributes).toEqual(attributes.toSorted((a, b) => a.compare(b)));
    expect(attributes.length).toBe(4);
    expect(first?.digest).toEqual(
      createHash('sha256')
        .update(first?.dataToSign ?? '')
        .digest(),
    );
    expect(Buffer.concat(attributes).includes('260102030405Z')).toBe(true);
  });

  it('completes with a right value, and refuses a wrong one', () => {
    for (const detached of [true, false]) {
      const prepared = cmsFormat.prepare(document, { algorithm, detached }, signer, moment);
      const evidence = cmsFormat.complete(prepared, valueOf(prepared.dataToSign), signer, document);
      expect(
        openssl(
          [
            'cms',
            '-verify',
            '-cades',
            '-binary',
            '-inform',
            'DER',
            '-in',
            '{cms}',
            '-CAfile',
            '{ca}',
            '-content',
            '{doc}',
            '-out',
            '/dev/null',
          ],
          {
            cms: joined(evidence.content),
            ca: pem,
            doc: 'content',
          },
        ),
      ).toContain('successful');
      expect(() => cmsFormat.complete(prepared, valueOf(Buffer.from('other')), signer, document)).toThrow('does not verify');
    }
  });

  it('writes one encoding throughout: OpenSSL writes the same bytes again', () => {
    const prepared = cmsFormat.prepare(document, { algorithm, detached: false }, signer, moment);
    const content = joined(cmsFormat.complete(prepared, valueOf(prepared.dataToSign), signer, document).content);
    const again = openssl(['cms', '-cmsout', '-inform', 'DER', '-in', '{cms}', '-outform', 'PEM'], { cms: content });
    expect(Buffer.from(again.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64').equals(Buffer.from(content))).toBe(true);
  });
});

describe('rawFormat with a software key', () => {
  it('gives ECDSA values in DER, and refuses a wrong one', () => {
    const prepared = rawFormat.prepare(document, { algorithm }, signer, moment);
    expect(readAll(joined(rawFormat.complete(prepared, valueOf(prepared.dataToSign), signer, document).content)).tag).toBe(0x30);
    expect(() => rawFormat.complete(prepared, valueOf(Buffer.from('other')), signer, document)).toThrow('does not verify');
  });
});
