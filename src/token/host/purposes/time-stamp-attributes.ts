import { hexOf, NotFit, tags, type DerWalk } from './der-walk.ts';

/**
 * Content octets of object identifiers of CMS (RFC 5652 §11) and ESS (RFC 5035 §3, RFC 3161 §2.4.1,
 * RFC 5816 §2.2.1).
 */
const oids = {
  contentType: '2a864886f70d010903',
  messageDigest: '2a864886f70d010904',
  signingCertificate: '2a864886f70d010910020c',
  signingCertificateV2: '2a864886f70d010910022f',
} as const;
/** id-ct-TSTInfo (RFC 3161 §2.4.2). */
const tstInfo = '2a864886f70d0109100104';
const digestLengths: readonly number[] = [32, 48, 64];

/**
 * Checks the signed attributes of a time-stamp token: SET OF Attribute in DER order (X.690 11.6),
 * each once and with one value, with content-type id-ct-TSTInfo, a message-digest, and a reference
 * to the signing certificate. `attributes` is inside the SET.
 * @throws {NotFit}
 */
export function checkTimeStampAttributes(attributes: DerWalk): void {
  const types = new Set<string>();
  let before: Uint8Array | undefined;
  while (!attributes.isAtEnd) {
    const { raw } = attributes;
    if (before !== undefined && Buffer.compare(before, raw) >= 0) throw new NotFit('the attributes are not in DER order');
    before = raw;
    const attribute = attributes.inside(tags.sequence, 'attribute');
    const type = hexOf(attribute.content(tags.objectIdentifier, 'attrType'));
    if (types.has(type)) throw new NotFit('duplicate attribute');
    types.add(type);
    const values = attribute.inside(tags.set, 'attrValues');
    attribute.end('attribute');
    checkValue(type, values);
  }
  const hasReference = types.has(oids.signingCertificate) || types.has(oids.signingCertificateV2);
  if (!types.has(oids.contentType) || !types.has(oids.messageDigest) || !hasReference)
    throw new NotFit('content-type, message-digest or signing-certificate is missing');
}

function checkValue(type: string, values: DerWalk): void {
  const { tag } = values;
  if (tag === undefined) throw new NotFit('an attribute has no value');
  const value = values.content(tag, 'a value');
  values.end('attrValues');
  if (type === oids.contentType && (tag !== tags.objectIdentifier || hexOf(value) !== tstInfo))
    throw new NotFit('the signed attributes are not those of a time-stamp');
  if (type === oids.messageDigest && (tag !== tags.octetString || !digestLengths.includes(value.length)))
    throw new NotFit('the message-digest does not have the length of a supported hash');
}
