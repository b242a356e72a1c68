import { createHash } from 'node:crypto';
import { bytesInMemory } from '../../asn1/byte-source.ts';
import { readSignedData } from '../../cms/read-signed-data.ts';
import { readSignerInfo } from '../../cms/read-signer-info.ts';
import { contentBytes, type Content } from '../../documents/content.ts';
import type { Evidence } from '../../documents/document.ts';
import type { PdfDictionary } from '../../pdf/objects.ts';
import { PdfFile } from '../../pdf/pdf-file.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import { unsignedValues } from '../cades/level-attributes.ts';
import { contentSource } from '../content-source.ts';
import { sha1NotArchived, type LevelWriter } from '../levels/level-writer.ts';
import { reachedLevel, type StampedPart } from '../levels/reached-level.ts';
import { signerCertificates } from '../levels/signer-path.ts';
import { signatureValueOf } from '../signature-value.ts';
import { documentTimeStamp, withToken } from './document-time-stamp.ts';
import type { PadesState } from './pades-state.ts';
import { coveredDigests, type ByteRange } from './signature-room.ts';
import { byteRangeOf, encodedSignature, isDocumentTimeStamp, signatureFields } from './signed-fields.ts';
import { validationDataOf } from './validation-data.ts';

/** Levels of PAdES baseline signatures (EN 319 142-1 §6.3). */
export const padesLevels: LevelWriter<PadesState> = {
  stampedBytes: (_prepared, value, { algorithm }) => signatureValueOf(algorithm, value),

  archiveImprint(evidence, { signing, prepared: { state } }) {
    const { hash } = signing.algorithm;
    if (hash === 'sha1') throw sha1NotArchived();
    const pieces = plainPieces(evidence);
    const { revision, byteRange } = documentTimeStamp(pieces, state);
    // The revision with the validation data too, since its encryption differs each time it is made.
    const [content, signed, ...later] = pieces;
    if (content === undefined || signed === undefined) throw new Error('the document lacks its signature');
    const [, start, end] = byteRange;
    const room = { start: start + 1 - contentBytes(content) - contentBytes(signed), bytes: (end - start - 2) / 2 };
    const index = Buffer.concat([...later.map(inMemory), revision]);
    return { hash, value: digestOfRange(hash, [...pieces, revision], byteRange), index, room };
  },

  archive: withToken,

  levelOf(evidence, { signing, prepared: { state } }, wanted, trust) {
    const pieces = plainPieces(evidence);
    const file = new PdfFile(contentSource(pieces), state.password ?? undefined);
    const fields = signatureFields(file);
    const own = fields.find(({ name }) => name === state.fieldName)?.signature;
    if (own === undefined) throw new Error('the result lacks the new signature');
    const cms = readSignedData(bytesInMemory(encodedSignature(own)));
    const [signerInfo] = cms.signerInfos;
    if (signerInfo === undefined) throw new Error('the result lacks the new signature');
    const [signer, ...issuers] = signerCertificates(signing.chain);
    const data = wanted === 'T' ? { certificates: [], crls: [], ocspAnswers: [] } : validationDataOf(file);
    const stamps = wanted === 'LTA' ? fields.flatMap(({ signature }) => stampOfWhole(file, signature, pieces)) : [];
    return reachedLevel({
      ...{ signer, anchors: [issuers.at(-1) ?? signer], ...trust },
      signatureTimeStamps: unsignedValues(signerInfo, 'signatureTimeStamp').map((token) => ({
        token,
        imprint: (hash) => createHash(hash).update(readSignerInfo(signerInfo).signature).digest(),
      })),
      archiveTimeStamps: stamps,
      embedded: { ...data, certificates: [...issuers.map(({ der }) => der), ...cms.certificates, ...data.certificates] },
    });
  },
};

/** Pieces of a finished document; none of them is compressed. */
function plainPieces({ content }: Evidence): readonly Content[] {
  return content.map((piece) => {
    if (!(piece instanceof Uint8Array) && 'deflated' in piece) throw new Error('a PDF is not compressed on delivery');
    return piece;
  });
}

function inMemory(piece: Content): Uint8Array {
  if (piece instanceof Uint8Array) return piece;
  throw new Error('a revision is in memory');
}

function digestOfRange(hash: HashName, pieces: readonly Content[], byteRange: ByteRange): Uint8Array {
  const [content, ...appended] = pieces;
  if (content === undefined) throw new Error('a PDF has its document');
  return coveredDigests(hash, content, appended.map(inMemory), byteRange).value;
}

/** Returns a signature as a document time-stamp, if it is one that covers all of the document. */
function stampOfWhole(file: PdfFile, signature: PdfDictionary | undefined, pieces: readonly Content[]): StampedPart[] {
  if (signature === undefined || !isDocumentTimeStamp(file, signature)) return [];
  const [start, length, start2, length2] = byteRangeOf(file, signature) ?? [];
  if (start !== 0 || length === undefined || start2 === undefined || length2 === undefined) return [];
  if (start2 + length2 !== file.bytes.length) return [];
  return [{ token: encodedSignature(signature), imprint: (hash) => digestOfRange(hash, pieces, [0, length, start2, length2]) }];
}
