import { createHash, type KeyObject } from 'node:crypto';
import { bytesBetween, bytesInMemory } from '../../../asn1/byte-source.ts';
import { concat } from '../../../asn1/der.ts';
import { DerError, readAll } from '../../../asn1/reader.ts';
import { readSignedData, type ReadSignedData } from '../../../cms/read-signed-data.ts';
import { readSignerInfo } from '../../../cms/read-signer-info.ts';
import { checkSignerInfos, digestHashOf, SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { isArray, PdfName, PdfString, type PdfDictionary } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { RequestRejected } from '../../../timestamp/request.ts';
import { readTstInfo, tstInfoType } from '../../../timestamp/tst-info.ts';
import type { HashName } from '../../../token/signature-algorithm.ts';
import { hasSoundExponent, KeyRefused, readPublicKey } from '../../../verification/public-key.ts';
import { obsoleteIn, strengthFault } from '../../../verification/signature-strength.ts';
import { valueVerifies } from '../../../verification/verify-value.ts';
import { readCertificate, type Certificate } from '../../../x509/certificate.ts';
import { encodedSignature } from '../signed-fields.ts';

/** A signature of a file, read from its dictionary. */
export interface ReadSignature {
  /** Hashes by which it covers the file, as far as they are known before it is checked. */
  readonly hashes: readonly HashName[];
  /**
   * Verifies it with the certificate in it; chain, validity and revocation are not checked.
   * `covered`: digest of what it covers. Returns what is obsolete in it, as the end of a sentence.
   * @throws {SignatureBroken} if it does not verify
   */
  check(covered: (hash: HashName) => Uint8Array): string | undefined;
}

/**
 * Reads a signature by its SubFilter (ISO 32000-2, 12.8.3; EN 319 142-1 §5.3 and §5.4.3).
 * @throws {SignatureBroken} for one that cannot be read, or has an unknown format
 */
export function readSignature(file: PdfFile, dictionary: PdfDictionary): ReadSignature {
  const subFilter = file.get(dictionary, 'SubFilter');
  const format = subFilter instanceof PdfName ? subFilter.text : 'none';
  return parsing(() => {
    switch (format) {
      case 'ETSI.CAdES.detached':
      case 'adbe.pkcs7.detached':
        return detached(cmsOf(dictionary));
      case 'ETSI.RFC3161':
        return timeStamp(cmsOf(dictionary));
      case 'adbe.pkcs7.sha1':
        return ofDigest(cmsOf(dictionary));
      case 'adbe.x509.rsa_sha1':
        return withoutCms(file, dictionary);
      default:
        throw new SignatureBroken(`has a format that this service does not know: ${JSON.stringify(format.slice(0, 100))}`);
    }
  });
}

/** Reads the SignedData. What stands behind it in its room is not signed, so it must be nothing. */
function cmsOf(dictionary: PdfDictionary): SignedCms {
  const encoded = encodedSignature(dictionary);
  const contents = dictionary.get('Contents');
  const room = contents instanceof PdfString ? contents.raw.subarray(encoded.length) : new Uint8Array();
  if (room.some((byte) => byte !== 0)) throw new SignatureBroken('has other bytes than zeros behind its encoding');
  const data = readSignedData(bytesInMemory(encoded));
  if (data.signerInfos.length === 0) throw new SignatureBroken('has no signer');
  const content = data.content?.map(({ start, end }) => bytesBetween(bytesInMemory(encoded), start, end));
  return { ...data, content: content === undefined ? undefined : concat(...content) };
}

interface SignedCms extends Omit<ReadSignedData, 'content'> {
  readonly content: Uint8Array | undefined;
}

function detached(data: SignedCms): ReadSignature {
  if (data.content !== undefined) throw new SignatureBroken('contains a content, though it is detached');
  return {
    hashes: data.signerInfos.flatMap((one) => digestHashOf(readSignerInfo(one)) ?? []),
    check: (covered) => checkSigners(data, covered),
  };
}

function timeStamp(data: SignedCms): ReadSignature {
  const { content, contentType } = data;
  if (content === undefined || contentType !== tstInfoType) throw new SignatureBroken('is no time-stamp');
  const { hash, value } = readTstInfo(content).imprint;
  return {
    hashes: [hash],
    check: (covered) => {
      checkDigest(value, covered(hash));
      return checkSigners(data, (name) => createHash(name).update(content).digest(), hash);
    },
  };
}

/** adbe.pkcs7.sha1: the content of the SignedData is the SHA-1 digest of what is covered. */
function ofDigest(data: SignedCms): ReadSignature {
  const { content } = data;
  if (content === undefined) throw new SignatureBroken('does not contain the digest of the file');
  return {
    hashes: ['sha1'],
    check: (covered) => {
      checkDigest(content, covered('sha1'));
      return checkSigners(data, (name) => createHash(name).update(content).digest(), 'sha1');
    },
  };
}

/** adbe.x509.rsa_sha1: the value is an OCTET STRING, and the certificate is in the dictionary. */
function withoutCms(file: PdfFile, dictionary: PdfDictionary): ReadSignature {
  const certificates = file.get(dictionary, 'Cert');
  const first = isArray(certificates) ? file.resolved(certificates[0] ?? null) : certificates;
  if (!(first instanceof PdfString)) throw new SignatureBroken('comes without the certificate of its signer');
  const certificate = readCertificate(first.bytes);
  const value = readAll(encodedSignature(dictionary));
  if (value.tag !== 0x04) throw new SignatureBroken('has a value that is no octet string');
  return {
    hashes: ['sha1'],
    check: (covered) => {
      const key = keyOf(certificate);
      const weakness = strengthFault(key);
      if (weakness !== undefined) throw new SignatureBroken(weakness);
      const algorithm = { scheme: 'RSA_PKCS1', hash: 'sha1' } as const;
      if (!hasSoundExponent(key) || !valueVerifies(key, algorithm, covered('sha1'), value.content))
        throw new SignatureBroken('has a value that does not verify');
      return obsoleteIn(key, ['sha1']);
    },
  };
}

function keyOf({ subjectPublicKeyInfo }: Certificate): KeyObject {
  try {
    return readPublicKey(subjectPublicKeyInfo);
  } catch (error) {
    const why = error instanceof KeyRefused ? error.message : 'cannot be read';
    throw new SignatureBroken(`cannot be verified: the key of its signer ${why}`, { cause: error });
  }
}

/** A signature of a PDF has one signer, and its field is named already. */
const numberOfOne = 'signature 1 of 1 ';

function checkSigners(
  { signerInfos, certificates, contentType }: SignedCms,
  digestBy: (hash: HashName) => Uint8Array,
  hashWithin?: HashName,
): string | undefined {
  try {
    const obsolete = checkSignerInfos(signerInfos, certificates, { contentType, digestBy, hashWithin });
    return obsolete.length === 0 ? undefined : obsolete.join(', ').replace(numberOfOne, '');
  } catch (error) {
    if (error instanceof SignatureBroken) throw new SignatureBroken(error.message.replace(numberOfOne, ''), { cause: error });
    throw error;
  }
}

function checkDigest(one: Uint8Array, other: Uint8Array): void {
  if (Buffer.compare(one, other) !== 0) throw new SignatureBroken('does not match the bytes that it covers');
}

function parsing<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof DerError || error instanceof RequestRejected)
      throw new SignatureBroken(`is not well formed: ${error.message}`, { cause: error });
    throw error;
  }
}
