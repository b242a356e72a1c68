import { readSignedData, type ReadSignedData } from '../../cms/read-signed-data.ts';
import { readSignerInfo } from '../../cms/read-signer-info.ts';
import { names } from '../../cms/verify-signer-info.ts';
import { children, readAll } from '../../asn1/reader.ts';
import { contentSource } from '../content-source.ts';
import { sha1NotArchived, type LevelWriter, type Raised } from '../levels/level-writer.ts';
import { signerCertificates } from '../levels/signer-path.ts';
import { signatureValueOf } from '../signature-value.ts';
import { cadesLevel } from './cades-level.ts';
import type { CmsState } from './cms.ts';
import {
  addedParts,
  archiveImprint,
  archiveTimeStamp,
  unsignedAttributesOf,
  withoutUnsignedAttributes,
} from '../cades/level-attributes.ts';

/** Levels of CAdES baseline signatures (EN 319 122-1 §6.3). */
export const cadesLevels: LevelWriter<CmsState> = {
  stampedBytes: (_prepared, value, { algorithm }) => signatureValueOf(algorithm, value),

  archiveImprint(evidence, raised) {
    const { signing, prepared } = raised;
    const { hash } = signing.algorithm;
    if (hash === 'sha1') throw sha1NotArchived();
    const data = readSignedData(contentSource(evidence.content));
    const signerInfo = ownSignerInfo(data, raised);
    const { certificates, revocationData, contentType } = data;
    const contentDigest = Buffer.from(prepared.state.contentDigest, 'base64');
    return archiveImprint({
      ...{ contentType, contentDigest, certificates, revocationData, hash },
      signerInfo: withoutUnsignedAttributes(signerInfo),
      unsignedAttributes: unsignedAttributesOf(signerInfo),
    });
  },

  archive(token, { index }) {
    if (index === undefined) throw new Error('an archive time-stamp of CMS has an index');
    return archiveTimeStamp(token, index);
  },

  levelOf(evidence, raised, wanted, trust) {
    const { signing, prepared } = raised;
    const data = readSignedData(contentSource(evidence.content));
    const [own, ...issuers] = signerCertificates(signing.chain);
    const isOwn = (bytes: Uint8Array): boolean => issuers.some((one) => Buffer.compare(one.der, bytes) === 0);
    return cadesLevel({
      ...data,
      // The signer's own chain comes first, so that it is found before chains through certificates
      // of other signers.
      certificates: [...data.certificates.filter(isOwn), ...data.certificates.filter((one) => !isOwn(one))],
      // Level T needs no status: revocation data in the document belongs to other signers.
      ...(wanted === 'T' ? { revocationData: [] } : {}),
      signerInfo: ownSignerInfo(data, raised),
      digestBy: (hash) => {
        if (hash !== signing.algorithm.hash) throw new Error(`the digest of the content by ${hash} is not available`);
        return Buffer.from(prepared.state.contentDigest, 'base64');
      },
      signer: own,
      anchors: [issuers.at(-1) ?? own],
      ...trust,
    });
  },
};

/**
 * Finds the new SignerInfo: that of this signer with these signed attributes and these time-stamps.
 */
function ownSignerInfo(
  { signerInfos }: ReadSignedData,
  { prepared: { state }, signing: { chain }, additions }: Raised<CmsState>,
): Uint8Array {
  const wanted = state.signedAttributes.map((one) => Buffer.from(one, 'base64'));
  const { unsignedAttributes } = addedParts(additions);
  const own = signerInfos.find((bytes) => {
    const info = readSignerInfo(bytes);
    const attributes = info.signedAttributes === undefined ? [] : children(readAll(info.signedAttributes)).map(({ raw }) => raw);
    return (
      names(info.signer, chain.certificate) &&
      wanted.every((one) => attributes.some((other) => one.equals(other))) &&
      unsignedAttributes.every((one) => unsignedAttributesOf(bytes).some((other) => Buffer.compare(one, other) === 0))
    );
  });
  if (own === undefined) throw new Error('the result lacks the new signature');
  return own;
}
