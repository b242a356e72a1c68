import { oids } from '../../asn1/object-identifiers.ts';
import { bytesInMemory } from '../../asn1/byte-source.ts';
import { readSignedData } from '../../cms/read-signed-data.ts';
import { attributeValues, readSignerInfo } from '../../cms/read-signer-info.ts';
import { checkSignerInfo, names } from '../../cms/verify-signer-info.ts';
import { contentBytes, type Content } from '../../documents/content.ts';
import { isName, PdfString } from '../../pdf/objects.ts';
import { PdfFile } from '../../pdf/pdf-file.ts';
import { contentSource } from '../content-source.ts';
import type { Signing } from '../format.ts';
import type { PadesState } from './pades-state.ts';
import { coveredDigests } from './signature-room.ts';
import { byteRangeOf, signatureFields } from './signed-fields.ts';

export interface ExpectedPades extends PadesState {
  readonly signing: Signing;
  /** The signature as it was made, in DER. */
  readonly cms: Uint8Array;
}

/**
 * Reads a finished document as its receiver would, and checks it before delivery: the signature is
 * where it should be, covers everything but its own room, and verifies. A file is not read whole:
 * it was hashed during preparation and is hashed again on delivery.
 * @throws {Error} if a check fails
 */
export function verifyPades(pieces: readonly Content[], expected: ExpectedPades): void {
  const { signing, byteRange, cms, isBasic } = expected;
  const [content, revision] = pieces;
  if (content === undefined || revision === undefined) throw new Error('the document lacks its signature');
  const file = new PdfFile(contentSource(pieces), expected.password ?? undefined);
  const field = signatureFields(file).find(({ name }) => name === expected.fieldName);
  const signature = must(field?.signature, 'is not in its field');
  const range = byteRangeOf(file, signature);
  must(range !== undefined && range.join() === byteRange.join(), 'has another byte range');
  const [, start, end, length] = byteRange;
  must(end + length === contentBytes(content) + contentBytes(revision), 'does not extend to the end of its revision');
  must(isName(signature.get('SubFilter'), isBasic ? 'adbe.pkcs7.detached' : 'ETSI.CAdES.detached'), 'has another format');
  must(signature.get('M') instanceof PdfString && signature.has('Filter'), 'lacks its time or its filter');
  must(!signature.has('Cert'), 'has a Cert, which PAdES excludes');
  const written = file.bytes.at(start, end - start).toString('latin1');
  const hex = Buffer.from(cms).toString('hex');
  must(written.startsWith(`<${hex}0`) && /^0*>$/.test(written.slice(hex.length + 1)), 'is not in its room');
  const contents = signature.get('Contents');
  must(contents instanceof PdfString && contents.raw.length * 2 === end - start - 2, 'is not what its dictionary has');
  const data = readSignedData(bytesInMemory(cms));
  must(data.signerInfos.length === 1 && data.content === undefined && data.contentType === oids.data, 'is not detached by one signer');
  const info = readSignerInfo(must(data.signerInfos[0], 'is by no signer'));
  const { certificate, publicKey } = signing.chain;
  must(names(info.signer, certificate), 'names another signer');
  const attributes = must(info.signedAttributes, 'has no signed attributes');
  must(attributeValues(attributes, oids.signingCertificateV2).length === 1, 'binds no certificate');
  must(attributeValues(attributes, oids.signingTime).length === 0, 'has a signing time among its attributes');
  const { hash } = signing.algorithm;
  const recorded = Buffer.from(expected.coveredDigest, 'base64');
  const isInMemory = content instanceof Uint8Array && revision instanceof Uint8Array;
  const digest = isInMemory ? coveredDigests(hash, content, [revision], byteRange).value : recorded;
  must(Buffer.compare(digest, recorded) === 0, 'covers other bytes than were signed');
  checkSignerInfo(info, { contentType: oids.data, digestBy: () => digest }, certificate, publicKey);
}

function must<T>(value: T | undefined | false, otherwise: string): T {
  if (value === undefined || value === false) throw new Error(`the signature ${otherwise}`);
  return value;
}
