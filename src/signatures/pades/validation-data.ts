import { createHash } from 'node:crypto';
import type { EvidencePiece } from '../../documents/content.ts';
import { isArray, PdfDictionary, PdfReference, PdfStream, type PdfObject } from '../../pdf/objects.ts';
import { PdfFile } from '../../pdf/pdf-file.ts';
import { Revision } from '../../pdf/revision.ts';
import { contentSource } from '../content-source.ts';
import type { LongTermData } from '../levels/long-term-data.ts';
import { changeCatalog, declareExtension } from './new-field.ts';

const keys = { certificates: 'Certs', crls: 'CRLs', ocspAnswers: 'OCSPs' } as const;
/** Certificates, CRLs and OCSP responses of a file; a CRL can be large. */
const elementsMax = 10_000;
const elementMaxBytes = 64 * 1024 * 1024;

/**
 * Returns the revision that adds validation data to a document (EN 319 142-1 §5.4.2): its document
 * security store gets what it lacks, and keeps what it has.
 */
export function validationDataRevision(pieces: readonly EvidencePiece[], password: string | undefined, data: LongTermData): Uint8Array {
  const file = new PdfFile(contentSource(pieces), password);
  const revision = new Revision(file);
  const place = file.catalog.get('DSS');
  const store = file.resolved(place);
  const known = store instanceof PdfDictionary ? store : new PdfDictionary();
  const entries: Record<string, PdfObject> = {};
  for (const name of ['certificates', 'crls', 'ocspAnswers'] as const) {
    const list = file.get(known, keys[name]);
    const present = new Set(elementsOf(file, list).map(digestOf));
    const added = data[name]
      .filter((one) => !present.has(digestOf(one)))
      .map((one) => revision.add(new PdfStream(new PdfDictionary(), one)));
    if (added.length > 0) entries[keys[name]] = [...(isArray(list) ? list : []), ...added];
  }
  const changed = known.with(entries);
  if (place instanceof PdfReference && store instanceof PdfDictionary) revision.set(place, changed);
  else changeCatalog(revision, { DSS: revision.add(changed) });
  declareExtension(revision);
  return revision.write().bytes;
}

/** Returns the validation data that a document has in its document security store. @throws {PdfFault} */
export function validationDataOf(file: PdfFile): LongTermData {
  const store = file.get(file.catalog, 'DSS');
  const of = (name: keyof typeof keys): Uint8Array[] =>
    store instanceof PdfDictionary ? elementsOf(file, file.get(store, keys[name])) : [];
  return { certificates: of('certificates'), crls: of('crls'), ocspAnswers: of('ocspAnswers') };
}

function elementsOf(file: PdfFile, list: PdfObject): Uint8Array[] {
  if (!isArray(list)) return [];
  return list.slice(0, elementsMax).flatMap((one) => {
    const stream = file.resolved(one);
    return stream instanceof PdfStream ? [file.content(stream, elementMaxBytes)] : [];
  });
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}
