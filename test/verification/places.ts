import { createHash, type KeyObject } from 'node:crypto';
import * as der from '../../src/asn1/der.ts';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';
import { certificateVerifies } from '../../src/x509/signed-object.ts';
import { pathCertificate } from '../../src/x509/path/path-certificate.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { hashAlgorithmIdentifier, signatureAlgorithmIdentifier } from '../../src/cms/algorithm-identifier.ts';
import { signedData } from '../../src/cms/signed-data.ts';
import { readSignedData } from '../../src/cms/read-signed-data.ts';
import { checkSignerInfos, SignatureBroken } from '../../src/cms/verify-signer-info.ts';
import { readCrl } from '../../src/revocation/crl.ts';
import { readOcspAnswer } from '../../src/revocation/ocsp-answer.ts';
import { verifyValues } from '../../src/signatures/sessions/verify-values.ts';
import type { SignatureAlgorithm } from '../../src/token/signature-algorithm.ts';
import { dataVerifies, valueVerifies, type DataAlgorithm } from '../../src/verification/verify-value.ts';
import { joined } from '../signatures/software-signer.ts';

/** A place where values are verified. An ECDSA value is in DER. */
export interface Place {
  readonly name: string;
  readonly takes: (algorithm: DataAlgorithm) => boolean;
  /** What is signed there: the message, or a structure that the place has around other things. */
  readonly toBeSigned: (key: KeyObject, algorithm: DataAlgorithm, message: Uint8Array) => Uint8Array;
  readonly verifies: (key: KeyObject, algorithm: DataAlgorithm, signed: Uint8Array, value: Uint8Array) => boolean;
}

const name = der.sequence(der.set(der.sequence(der.oid(oids.commonName), der.utf8String('a place'))));
const time = (digits: string): Uint8Array => der.tagged(0x17, Buffer.from(digits));
const validity = der.sequence(time('250101000000Z'), time('350101000000Z'));
const isOurs = (algorithm: DataAlgorithm): algorithm is SignatureAlgorithm =>
  algorithm.scheme !== 'DSA' &&
  algorithm.scheme !== 'EDDSA' &&
  algorithm.hash !== 'sha224' &&
  !('mgfHash' in algorithm && algorithm.mgfHash === 'sha224');
const identifier = (algorithm: DataAlgorithm): Uint8Array => {
  if (algorithm.scheme === 'EDDSA') return der.sequence(der.oid(oids.ed25519));
  if (!isOurs(algorithm)) throw new RangeError('an algorithm without an identifier here');
  return signatureAlgorithmIdentifier(algorithm);
};
const spkiOf = (key: KeyObject): Uint8Array => key.export({ type: 'spki', format: 'der' });
const hasIdentifier = (algorithm: DataAlgorithm): boolean => algorithm.scheme === 'EDDSA' || isOurs(algorithm);
const tbsCertificate = (key: KeyObject, algorithm: DataAlgorithm): Uint8Array =>
  der.sequence(der.integer(5), identifier(algorithm), name, validity, name, spkiOf(key));
/** A certificate whose own value is none, for those that want the signer's. */
const certificateOf = (key: KeyObject, algorithm: DataAlgorithm): Uint8Array => {
  const certificate = certificates.get(key) ?? signed(tbsCertificate(key, algorithm), algorithm, Buffer.alloc(8));
  certificates.set(key, certificate);
  return certificate;
};
const certificates = new WeakMap<KeyObject, Uint8Array>();
const signed = (toBeSigned: Uint8Array, algorithm: DataAlgorithm, value: Uint8Array): Uint8Array =>
  der.sequence(toBeSigned, identifier(algorithm), der.bitString(value));

const asMessage = (_key: KeyObject, _algorithm: DataAlgorithm, message: Uint8Array): Uint8Array => message;

/** Those where anything can be signed. */
export const placesForMessages: readonly Place[] = [
  {
    name: 'over a digest',
    takes: ({ scheme }) => scheme !== 'EDDSA',
    toBeSigned: asMessage,
    verifies: (key, algorithm, message, value) =>
      algorithm.scheme !== 'EDDSA' && valueVerifies(key, algorithm, createHash(algorithm.hash).update(message).digest(), value),
  },
  { name: 'over data', takes: () => true, toBeSigned: asMessage, verifies: dataVerifies },
  {
    name: 'as remoteSign takes it',
    takes: isOurs,
    toBeSigned: asMessage,
    verifies(key, algorithm, message, value) {
      if (!isOurs(algorithm)) return false;
      const digest = createHash(algorithm.hash).update(message).digest();
      return verifyValues({ publicKey: key, algorithm, values: [{ digest, value }] })[0] !== undefined;
    },
  },
  {
    name: 'in a SignerInfo over content',
    takes: isOurs,
    toBeSigned: asMessage,
    verifies(key, algorithm, message, value) {
      if (!isOurs(algorithm)) return false;
      const certificate = certificateOf(key, algorithm);
      const { issuer, serialNumber } = readCertificate(certificate);
      const signerInfo = der.sequence(
        der.integer(1),
        der.sequence(issuer, der.tagged(0x02, serialNumber)),
        hashAlgorithmIdentifier(algorithm.hash),
        identifier(algorithm),
        der.octetString(value),
      );
      const parts = { certificates: [certificate], revocationData: [], signerInfos: [signerInfo] };
      const digestAlgorithms = [hashAlgorithmIdentifier(algorithm.hash)];
      const cms = joined(signedData({ ...parts, digestAlgorithms, contentType: oids.data, content: [message] }));
      const read = readSignedData(bytesInMemory(cms));
      try {
        const digestBy = (hash: string): Uint8Array => createHash(hash).update(message).digest();
        checkSignerInfos(read.signerInfos, read.certificates, { contentType: read.contentType, digestBy });
        return true;
      } catch (error) {
        if (error instanceof SignatureBroken) return false;
        throw error;
      }
    },
  },
];

/** Those that sign structures of their own. */
const placesForStructures: readonly Place[] = [
  {
    name: 'of a certificate',
    takes: hasIdentifier,
    toBeSigned: tbsCertificate,
    verifies: (key, algorithm, tbs, value) => certificateVerifies(signed(tbs, algorithm, value), key),
  },
  {
    name: 'of a certificate in a path',
    takes: hasIdentifier,
    toBeSigned: tbsCertificate,
    verifies: (key, algorithm, tbs, value) =>
      pathCertificate(signed(tbs, algorithm, value)).isSignedBy(pathCertificate(certificateOf(key, algorithm))),
  },
  {
    name: 'of a CRL',
    takes: hasIdentifier,
    toBeSigned: (_key, algorithm) =>
      der.sequence(der.integer(1), identifier(algorithm), name, time('250101000000Z'), time('350101000000Z')),
    verifies: (key, algorithm, tbs, value) =>
      readCrl(signed(tbs, algorithm, value)).isSignedBy(pathCertificate(certificateOf(key, algorithm))),
  },
  {
    name: 'of an OCSP answer',
    takes: hasIdentifier,
    toBeSigned: () => der.sequence(der.explicit(1, name), der.tagged(0x18, Buffer.from('20250101000000Z')), der.sequence()),
    verifies(key, algorithm, data, value) {
      const basic = der.sequence(der.oid('1.3.6.1.5.5.7.48.1.1'), der.octetString(signed(data, algorithm, value)));
      const answer = der.sequence(der.tagged(0x0a, Uint8Array.of(0)), der.explicit(0, basic));
      return readOcspAnswer(answer).isSignedBy(pathCertificate(certificateOf(key, algorithm)));
    },
  },
];

export const places: readonly Place[] = [...placesForMessages, ...placesForStructures];
