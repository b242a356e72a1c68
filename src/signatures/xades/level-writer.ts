import { createHash } from 'node:crypto';
import { contentPieces } from '../../documents/content.ts';
import type { Evidence } from '../../documents/document.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import { canonicalisationOfUri } from '../../xml/canonicalisation.ts';
import type { XmlNode } from '../../xml/engine.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { dsNamespace } from '../../xmldsig/algorithm-uris.ts';
import { elementsWithId } from '../../xmldsig/ids.ts';
import { base64Of, readSignature, type ReadSignature } from '../../xmldsig/read-signature.ts';
import { LevelBroken, sha1NotArchived, type LevelWriter, type Raised } from '../levels/level-writer.ts';
import { reachedLevel, type StampedPart } from '../levels/reached-level.ts';
import { signerCertificates } from '../levels/signer-path.ts';
import { archiveImprint, type OutsideData } from './archive-imprint.ts';
import { encapsulatedIn, unsignedPropertiesIn } from './read-properties.ts';
import { xades141Namespace } from './xades-version.ts';
import type { XadesState } from './xades-state.ts';
import { parsedXml } from './xml-input.ts';

/** How the finished signatures of one form are read. */
export interface FormReader<State extends XadesState> {
  /** Returns the document with the signature. */
  document(evidence: Evidence, raised: Raised<State>): Uint8Array;
  readonly outside: (raised: Raised<State>) => OutsideData;
}

/** Forms whose evidence is one XML document, which contains all that is signed. */
export const wholeDocument: FormReader<XadesState> = {
  document: ({ content }) => Buffer.concat(content.flatMap((piece) => Array.from(contentPieces(piece), (part) => Buffer.from(part)))),
  outside: () => () => {
    throw new Error('everything signed is in the document');
  },
};

/** Returns the levels of XAdES baseline signatures (EN 319 132-1 §6.3) in one form. */
export function xadesLevels<State extends XadesState>(form: FormReader<State>): LevelWriter<State> {
  return {
    stampedBytes: ({ state: { valueTag } }, value) =>
      Buffer.from(`${valueTag}${Buffer.from(value).toString('base64')}</ds:SignatureValue>`),

    archiveImprint(evidence, raised) {
      const { hash } = raised.signing.algorithm;
      if (hash === 'sha1') throw sha1NotArchived();
      return reading(form, evidence, raised, (document, signature) => ({
        hash,
        value: archiveImprint({ document, signature, hash, algorithm: 'EXC_C14N', outside: form.outside(raised), until: undefined }),
      }));
    },

    archive: (token) => token,

    levelOf(evidence, raised, wanted, trust) {
      const [signer, ...issuers] = signerCertificates(raised.signing.chain);
      return reading(form, evidence, raised, (document, signature) => {
        const properties = unsignedPropertiesIn(document, signature);
        const named = (name: string): XmlNode[] => properties.filter((one) => document.localName(one) === name);
        const values = [...named('CertificateValues'), ...named('RevocationValues')];
        const stamped = (stamps: readonly XmlNode[], imprint: (stamp: XmlNode, hash: HashName) => Uint8Array): StampedPart[] =>
          stamps.map((stamp) => ({ token: tokenOf(document, stamp), imprint: (hash) => imprint(stamp, hash) }));
        const valueOctets = Buffer.from(`${raised.prepared.state.valueTag}${document.text(signature.signatureValue)}</ds:SignatureValue>`);
        const archives = named('ArchiveTimeStamp').filter((one) => document.namespace(one) === xades141Namespace);
        return reachedLevel({
          ...trust,
          signer,
          anchors: [issuers.at(-1) ?? signer],
          signatureTimeStamps: stamped(named('SignatureTimeStamp'), (_stamp, hash) => createHash(hash).update(valueOctets).digest()),
          archiveTimeStamps: stamped(archives, (stamp, hash) =>
            archiveImprint({
              ...{ document, signature, hash },
              outside: form.outside(raised),
              algorithm: stampMethodOf(document, stamp),
              until: stamp,
            }),
          ),
          embedded: {
            certificates: [
              ...signature.certificates,
              ...values.flatMap((one) => encapsulatedIn(document, one, 'EncapsulatedX509Certificate')),
            ],
            // Level T needs no status.
            crls: wanted === 'T' ? [] : values.flatMap((one) => encapsulatedIn(document, one, 'EncapsulatedCRLValue')),
            ocspAnswers: wanted === 'T' ? [] : values.flatMap((one) => encapsulatedIn(document, one, 'EncapsulatedOCSPValue')),
          },
        });
      });
    },
  };
}

/** Reads the finished signature. */
function reading<State extends XadesState, T>(
  form: FormReader<State>,
  evidence: Evidence,
  raised: Raised<State>,
  read: (document: XmlDocument, signature: ReadSignature) => T,
): T {
  using document = parsedXml(form.document(evidence, raised));
  const [element, ...others] = elementsWithId(document, raised.prepared.state.signatureId);
  if (element === undefined || others.length > 0) throw new Error('the result lacks the new signature');
  return read(document, readSignature(document, element));
}

/** Reads the token of a time-stamp. @throws {LevelBroken} */
function tokenOf(document: XmlDocument, stamp: XmlNode): Uint8Array {
  const tokens = document.children(stamp).filter((one) => document.localName(one) === 'EncapsulatedTimeStamp');
  const [token, ...others] = tokens;
  if (token === undefined || others.length > 0) throw new LevelBroken('a time-stamp of the signature does not have exactly one token');
  return base64Of(document, token);
}

function stampMethodOf(document: XmlDocument, stamp: XmlNode): Parameters<typeof archiveImprint>[0]['algorithm'] {
  const method = document.child(stamp, dsNamespace, 'CanonicalizationMethod');
  if (method === undefined) return 'C14N';
  const algorithm = canonicalisationOfUri(document.attribute(method, 'Algorithm') ?? '');
  if (algorithm === undefined) throw new LevelBroken('a time-stamp of the signature names an unknown canonicalisation');
  return algorithm;
}
