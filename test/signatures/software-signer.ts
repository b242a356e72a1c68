import { constants, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { readCertificateText } from '../../src/x509/certificate.ts';
import { type Content, contentPieces, type EvidencePiece } from '../../src/documents/content.ts';
import type { InputDocument } from '../../src/documents/document.ts';
import { cmsFormat, type CmsParameters, type CmsState } from '../../src/signatures/cms/cms.ts';
import type { Prepared, SignerChain, Signing } from '../../src/signatures/format.ts';
import { usualProperties } from '../../src/signatures/request/signed-properties.ts';
import type { SignerPlan } from '../../src/signatures/signatures.ts';
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
  return signerWith(privateKey, name, serialNumber);
}

/** A signer with this key, RSA or on a curve. */
export function signerWith(privateKey: KeyObject, name: string, serialNumber = '5'): SoftwareSigner {
  const kind = privateKey.asymmetricKeyType;
  const pem = openssl(['req', '-x509', '-key', '{key}', '-subj', `/CN=${name}`, '-days', '2', '-set_serial', serialNumber], {
    key: keyPem(privateKey),
  });
  const certificate = readCertificateText(pem);
  const publicKey = createPublicKey(privateKey);
  const algorithm: SignatureAlgorithm = kind === 'ec' ? { scheme: 'ECDSA', hash: 'sha256' } : { scheme: 'RSA_PKCS1', hash: 'sha256' };
  return { privateKey, pem, certificate, publicKey, issuers: [certificate.der], algorithm };
}

export function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** As a token answers: ECDSA as r‖s. */
export function valueOf(
  { privateKey, algorithm: usual }: SoftwareSigner,
  { dataToSign }: Pick<Prepared<unknown>, 'dataToSign'>,
  algorithm = usual,
): Buffer {
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

/** What crosses to a thread is cloned: a private key has no place there. */
export function chainOf({ certificate, publicKey, issuers }: SoftwareSigner): SignerChain {
  return { certificate, publicKey, issuers };
}

/** The plan of CMS signatures. */
export function planOf(signer: SoftwareSigner, more: Partial<CmsParameters> = {}): SignerPlan {
  const parameters = cmsParametersOf(signer, more);
  return { format: 'cms', isText: false, algorithm: parameters.algorithm, level: undefined, chain: chainOf(signer), parameters };
}

export function signingOf(signer: SoftwareSigner, algorithm = signer.algorithm): Signing {
  return { algorithm, chain: chainOf(signer) };
}

/** For signatures of baseline B. */
export const noLevels = {
  order: (): never => {
    throw new Error('no level was asked for');
  },
};

export function theOne<T>([one, ...others]: readonly T[]): T {
  if (one === undefined || others.length > 0) throw new Error(`not one, but ${others.length + (one === undefined ? 0 : 1)}`);
  return one;
}

/** The prepared CMS signature of one document. */
export function preparedCms(
  signer: SoftwareSigner,
  content: Content,
  more: Partial<CmsParameters> = {},
  moment = { now: new Date() },
): Prepared<CmsState> {
  return theOne(cmsFormat.prepare([documentOf(content)], cmsParametersOf(signer, more), signer, moment));
}

/** Both steps, as the service takes them. The state goes through JSON between them, as that of a session does. */
export function signedBy(signer: SoftwareSigner, content: Content, more: Partial<CmsParameters> = {}): readonly EvidencePiece[] {
  const { algorithm } = cmsParametersOf(signer, more);
  const prepared = preparedCms(signer, content, more);
  const stored = { ...prepared, state: JSON.parse(JSON.stringify(prepared.state)) as typeof prepared.state };
  return cmsFormat.complete(stored, valueOf(signer, prepared, algorithm), signingOf(signer, algorithm)).content;
}

export function joined(pieces: readonly EvidencePiece[]): Buffer {
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
