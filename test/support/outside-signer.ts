import { children, readAll } from '../../src/asn1/reader.ts';
import { openssl } from './openssl.ts';

export const outsideKeyTypes = ['RSA-2048', 'P-256', 'P-384', 'P-521'] as const;
export type OutsideKeyType = (typeof outsideKeyTypes)[number];

/** A signer with a key of its own, which OpenSSL makes and uses: as a signing device does. */
export interface OutsideSigner {
  readonly type: OutsideKeyType;
  /** PEM. */
  readonly privateKey: string;
  readonly publicKey: string;
  readonly certificate: string;
}

export interface SignerOptions {
  readonly validity?: { readonly notBefore: string; readonly notAfter: string };
  /** Of RSA; absent: 65537. */
  readonly publicExponent?: bigint;
}

/** A CA of the outside world: a root and an authority below it, PEM. */
export interface OutsideAuthority {
  readonly root: string;
  readonly issuer: string;
  /** A certificate from it: valid for ten days from now unless told otherwise. */
  certify(type: OutsideKeyType, options?: SignerOptions): OutsideSigner;
  /** A certificate for a public key (SubjectPublicKeyInfo, DER) that nobody has a private key for. PEM. */
  certifyKey(subjectPublicKeyInfo: Uint8Array): string;
}

const coordinateBytes = { 'P-256': 32, 'P-384': 48, 'P-521': 66 } as const;

function newKey(type: OutsideKeyType, publicExponent = 65_537n): string {
  const options = type.startsWith('RSA-')
    ? ['-algorithm', 'RSA', '-pkeyopt', `rsa_keygen_bits:${type.slice(4)}`, '-pkeyopt', `rsa_keygen_pubexp:${publicExponent}`]
    : ['-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${type}`];
  return openssl(['genpkey', ...options, '-quiet']);
}

const authorityConfiguration = `[ca]
default_ca = outside
[outside]
database = index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = signer
[any]
commonName = supplied
countryName = optional
[signer]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature,nonRepudiation
`;

export function outsideAuthority(): OutsideAuthority {
  const [rootKey, issuerKey] = [newKey('P-256'), newKey('P-256')];
  const isCa = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
  const root = openssl(['req', '-x509', '-new', '-key', '{key}', '-subj', '/CN=Outside Root', '-days', '30', ...isCa], { key: rootKey });
  const issuer = openssl(
    ['req', '-x509', '-new', '-key', '{key}', '-CA', '{ca}', '-CAkey', '{caKey}', '-subj', '/CN=Outside Issuer', '-days', '30', ...isCa],
    { key: issuerKey, ca: root, caKey: rootKey },
  );
  return {
    root,
    issuer,
    certify(type, { validity, publicExponent } = {}) {
      const privateKey = newKey(type, publicExponent);
      const name = ['-subj', `/C=FR/CN=Outside ${type}`];
      const files = { key: privateKey, ca: issuer, caKey: issuerKey, index: '', configuration: authorityConfiguration };
      const signed = [
        'ca',
        '-batch',
        '-config',
        '{configuration}',
        '-notext',
        '-rand_serial',
        '-in',
        '{request}',
        '-cert',
        '{ca}',
        '-keyfile',
        '{caKey}',
      ];
      const period = validity === undefined ? ['-days', '10'] : ['-startdate', validity.notBefore, '-enddate', validity.notAfter];
      const request = openssl(['req', '-new', '-key', '{key}', ...name], files);
      const certificate = openssl([...signed, ...period, '-out', '{made}'], { ...files, request }, 'made').toString();
      return { type, privateKey, publicKey: openssl(['pkey', '-in', '{key}', '-pubout'], { key: privateKey }), certificate };
    },
    certifyKey(subjectPublicKeyInfo) {
      const key = Buffer.from(subjectPublicKeyInfo).toString('base64');
      return openssl(
        ['x509', '-new', '-subj', '/CN=Outside key', '-days', '10', '-force_pubkey', '{key}', '-CA', '{ca}', '-CAkey', '{caKey}'],
        { key: `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----\n`, ca: issuer, caKey: issuerKey },
      );
    },
  };
}

/** What OpenSSL signs a digest with: the hash, and for RSASSA-PSS the salt's length. */
export interface OutsideAlgorithm {
  readonly hash: 'sha256' | 'sha384' | 'sha512';
  readonly pssSaltBytes?: number;
}

/** The value over a digest, base64; ECDSA as DER. */
export function signOutside({ type, privateKey }: OutsideSigner, digestBase64: string, { hash, pssSaltBytes }: OutsideAlgorithm): string {
  const pss = ['-pkeyopt', 'rsa_padding_mode:pss', '-pkeyopt', `rsa_pss_saltlen:${pssSaltBytes}`, '-pkeyopt', `rsa_mgf1_md:${hash}`];
  const padding = type.startsWith('RSA-') && pssSaltBytes !== undefined ? pss : [];
  const made = openssl(
    ['pkeyutl', '-sign', '-inkey', '{key}', '-in', '{digest}', '-pkeyopt', `digest:${hash}`, ...padding, '-out', '{value}'],
    { key: privateKey, digest: Buffer.from(digestBase64, 'base64') },
    'value',
  );
  return Buffer.from(made).toString('base64');
}

/** ECDSA-Sig-Value in DER as r‖s; both base64. */
export function rawEcdsa(derBase64: string, type: OutsideKeyType): string {
  if (type === 'RSA-2048') throw new Error('RSA has one form');
  const width = coordinateBytes[type];
  const halves = children(readAll(Buffer.from(derBase64, 'base64'))).map(({ content }) => {
    const digits = Buffer.from(content).toString('hex').replace(/^00/, '');
    return digits.padStart(2 * width, '0');
  });
  return Buffer.from(halves.join(''), 'hex').toString('base64');
}

/** Base64 of the DER. */
export function derOf(pem: string): string {
  return pem.replaceAll(/-----[^-]+-----|\s/g, '');
}
