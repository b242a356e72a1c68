import { createHash } from 'node:crypto';
import type { EvidencePiece } from '../../documents/content.ts';
import { isArray, PdfDictionary, PdfName, PdfReference, PdfStream, type PdfArray, type PdfObject } from '../../pdf/objects.ts';
import { PdfFault } from '../../pdf/pdf-fault.ts';
import { PdfFile } from '../../pdf/pdf-file.ts';
import { Revision } from '../../pdf/revision.ts';
import { contentSource } from '../content-source.ts';
import type { LongTermData } from '../levels/long-term-data.ts';
import { changeCatalog, declareExtension } from './new-field.ts';

/** Names of the lists in the store, and in an entry of VRI (ISO 32000-2, 12.8.4.3). */
const keys = {
  certificates: { store: 'Certs', ofSignature: 'Cert' },
  crls: { store: 'CRLs', ofSignature: 'CRL' },
  ocspAnswers: { store: 'OCSPs', ofSignature: 'OCSP' },
} as const;
/** Limits of the certificates, CRLs and OCSP responses of a file, together; a CRL can be large. */
const elementsMax = 10_000;
const contentMaxBytes = 128 * 1024 * 1024;

/**
 * Returns the revision that adds validation data to a document (EN 319 142-1 §5.4.2): its document
 * security store gets what it lacks, and keeps what it has. `signature`: the bytes of its Contents.
 *
 * The dictionary VRI repeats for each signature what the store has for all, and validators search
 * the whole store, so it is left out. Only where the store has all of the data already does it
 * get an entry for the signature: the store must differ from the one before the signature, or it
 * does not count as its validation data.
 */
export function validationDataRevision(
  pieces: readonly EvidencePiece[],
  password: string | undefined,
  data: LongTermData,
  signature: Uint8Array,
): Uint8Array {
  const file = new PdfFile(contentSource(pieces), password);
  const revision = new Revision(file);
  const place = file.catalog.get('DSS');
  const store = file.resolved(place);
  const known = store instanceof PdfDictionary ? store : new PdfDictionary();
  const added: Record<string, PdfObject> = {};
  const used: Record<string, PdfObject> = {};
  const elements = new StoredElements(file, known);
  for (const name of ['certificates', 'crls', 'ocspAnswers'] as const) {
    const present = new Map(elements.of(name).map(({ reference, content }) => [digestOf(content), reference]));
    const fresh = data[name].filter((one) => !present.has(digestOf(one)));
    for (const one of fresh) present.set(digestOf(one), revision.add(new PdfStream(new PdfDictionary(), one)));
    const referencesOf = (list: readonly Uint8Array[]): PdfObject[] => list.map((one) => present.get(digestOf(one)) ?? null);
    if (fresh.length > 0) added[keys[name].store] = [...elements.list(name), ...referencesOf(fresh)];
    if (data[name].length > 0) used[keys[name].ofSignature] = referencesOf(data[name]);
  }
  if (revision.isEmpty) {
    const ofSignatures = file.get(known, 'VRI');
    const entries = ofSignatures instanceof PdfDictionary ? ofSignatures : new PdfDictionary();
    added['VRI'] = entries.with({ [signatureKey(signature)]: revision.add(PdfDictionary.of({ Type: new PdfName('VRI'), ...used })) });
  }
  const changed = known.with(added);
  if (place instanceof PdfReference && store instanceof PdfDictionary) revision.set(place, changed);
  else changeCatalog(revision, { DSS: revision.add(changed) });
  declareExtension(revision);
  return revision.write().bytes;
}

/**
 * Key of a signature in VRI (ISO 32000-2, 12.8.4.3): SHA-1 of its Contents with the zeros that fill
 * its room.
 */
function signatureKey(contents: Uint8Array): string {
  return createHash('sha1').update(contents).digest('hex').toUpperCase();
}

/**
 * Returns the validation data that a document has in its document security store.
 * @throws {PdfFault} for a store that cannot be read, or is too large
 */
export function validationDataOf(file: PdfFile): LongTermData {
  const store = file.get(file.catalog, 'DSS');
  if (!(store instanceof PdfDictionary)) return { certificates: [], crls: [], ocspAnswers: [] };
  const elements = new StoredElements(file, store);
  const of = (name: keyof typeof keys): Uint8Array[] => elements.of(name).map(({ content }) => content);
  return { certificates: of('certificates'), crls: of('crls'), ocspAnswers: of('ocspAnswers') };
}

interface StoredElement {
  readonly reference: PdfObject;
  readonly content: Uint8Array;
}

/** Reads the lists of a document security store, within limits for all of them. */
class StoredElements {
  readonly #file: PdfFile;
  readonly #store: PdfDictionary;
  #count = 0;
  #bytes = 0;

  constructor(file: PdfFile, store: PdfDictionary) {
    this.#file = file;
    this.#store = store;
  }

  list(name: keyof typeof keys): PdfArray {
    const list = this.#file.get(this.#store, keys[name].store);
    return isArray(list) ? list : [];
  }

  of(name: keyof typeof keys): StoredElement[] {
    const list = this.list(name);
    this.#count += list.length;
    if (this.#count > elementsMax) throw new PdfFault(`the document security store has more than ${elementsMax} elements`);
    return list.flatMap((reference) => {
      const stream = this.#file.resolved(reference);
      if (!(stream instanceof PdfStream)) return [];
      const content = this.#file.content(stream, contentMaxBytes - this.#bytes);
      this.#bytes += content.length;
      return [{ reference, content }];
    });
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}
