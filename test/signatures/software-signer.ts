import { constants, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { readCertificateText } from '../../src/x509/certificate.ts';
import type { Content } from '../../src/documents/content.ts';
import { contentPieces } from '../../src/documents/content-pieces.ts';
import type { InputDocument } from '../../src/documents/document.ts';
import { cmsFormat, type CmsParameters } from '../../src/signatures/cms/cms.ts';
import type { Prepared, SignerChain } from '../../src/signatures/format.ts';
import { usualProperties } from '../../src/signatures/request/signed-properties.ts';
import type { SignatureAlgorithm } from '../../src/token/signature-algorithm.ts';
import { openssl } from '../support/openssl.ts';

/** A signer whose key is no token's. */
export interface SoftwareSigner extends SignerChain {
  readonly privateKey: KeyObject;
  /** The self-signed certificate. */
  readonly pem: string;
  readonly algorithm: SignatureAlgorithm;
}

export function softwareSigner(name: string, kind: 'rsa' | 'ec' = 'ec', serialNumber = '5', publicExponent = 65_537): SoftwareSigner {
  const { privateKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent });
  const pem = openssl(['req', '-x509', '-key', '{key}', '-subj', `/CN=${name}`, '-days', '2', '-set_serial', serialNumber], {
    key: keyPem(privateKey),
  });
  const certificate = readCertificateText(pem);
  const publicKey = createPublicKey({ key: Buffer.from(certificate.subjectPublicKeyInfo), format: 'der', type: 'spki' });
  const algorithm: SignatureAlgorithm = kind === 'ec' ? { scheme: 'ECDSA', hash: 'sha256' } : { scheme: 'RSA_PKCS1', hash: 'sha256' };
  return { privateKey, pem, certificate, publicKey, issuers: [certificate.der], algorithm };
}

export function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** As a token answers: ECDSA as r‖s. */
export function valueOf({ privateKey }: SoftwareSigner, { algorithm, dataToSign }: Prepared<unknown>): Buffer {
  const data = dataToSign ?? Buffer.alloc(0);
  if (algorithm.scheme === 'ECDSA') return sign(algorithm.hash, data, { key: privateKey, dsaEncoding: 'ieee-p1363' });
  if (algorithm.scheme === 'RSA_PKCS1') return sign(algorithm.hash, data, privateKey);
  return sign(algorithm.hash, data, { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: algorithm.saltBytes });
}

export function documentOf(content: Content): InputDocument {
  return { id: 'd', fileName: undefined, source: { content } };
}

/** An attached signature of baseline B, without co-signing, unless told otherwise. */
export function cmsParametersOf(signer: SoftwareSigner, more: Partial<CmsParameters> = {}): CmsParameters {
  return { algorithm: signer.algorithm, detached: false, properties: usualProperties, coSigning: 'NEVER', ...more };
}

/** Both steps, as the service takes them. The state goes through JSON between them, as that of a session does. */
export function signedBy(signer: SoftwareSigner, content: Content, more: Partial<CmsParameters> = {}): readonly Content[] {
  const document = documentOf(content);
  const prepared = cmsFormat.prepare(document, cmsParametersOf(signer, more), signer, { now: new Date() });
  const stored = { ...prepared, state: JSON.parse(JSON.stringify(prepared.state)) as typeof prepared.state };
  return cmsFormat.complete(stored, valueOf(signer, prepared), signer, prepared.needsContent ? document : undefined).content;
}

export function joined(pieces: readonly Content[]): Buffer {
  return Buffer.concat(pieces.flatMap((piece) => Array.from(contentPieces(piece), (part) => Buffer.from(part))));
}

/** `openssl cms -verify`: what it printed, the content included. @throws where it refuses */
export function opensslVerifies(cms: Uint8Array, signers: readonly SoftwareSigner[], content?: Uint8Array): string {
  return openssl(
    [
      ...['cms', '-verify', '-binary', '-inform', 'DER', '-in', '{cms}', '-CAfile', '{ca}'],
      ...(content === undefined ? [] : ['-content', '{content}']),
    ],
    { cms, ca: signers.map(({ pem }) => pem).join('\n'), ...(content === undefined ? {} : { content }) },
  );
}
