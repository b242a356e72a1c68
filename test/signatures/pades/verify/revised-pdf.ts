import { createHash, sign } from 'node:crypto';
import { bytesInMemory } from '../../../../src/asn1/byte-source.ts';
import * as der from '../../../../src/asn1/der.ts';
import { hashAlgorithmIdentifier } from '../../../../src/cms/algorithm-identifier.ts';
import { isArray, PdfDictionary, PdfName, PdfReference, PdfStream, type PdfObject } from '../../../../src/pdf/objects.ts';
import { pages } from '../../../../src/pdf/pages.ts';
import { PdfFault } from '../../../../src/pdf/pdf-fault.ts';
import { PdfFile } from '../../../../src/pdf/pdf-file.ts';
import { Revision } from '../../../../src/pdf/revision.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { Refusal } from '../../../../src/result-codes.ts';
import { SignatureRoom, withContents } from '../../../../src/signatures/pades/signature-room.ts';
import { checkEarlierSignatures } from '../../../../src/signatures/pades/verify/earlier-signatures.ts';
import { timeStampToken } from '../../../../src/timestamp/token-writer.ts';
import { tstInfoDer } from '../../../../src/timestamp/tst-info.ts';
import { signPdf, usualSigner } from '../sign-pdf.ts';

/** Returns why the signatures of a PDF do not hold; undefined if all do. */
export function findingOf(pdf: Uint8Array, password?: string): string | undefined {
  try {
    checkEarlierSignatures(bytesInMemory(pdf), password, '/inputDocuments/0');
    return undefined;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'EXISTING_SIGNATURE_INVALID') return error.message;
    throw error;
  }
}

/** Objects of the file in its newest revision. */
export function objectNumbers(pdf: Buffer): readonly number[] {
  const file = new PdfFile(bytesInMemory(pdf));
  return Array.from(file.crossReference.inUse(file.bytes.work), ([number]) => number);
}

/** Returns why a revision is refused, with or without a word about a signature; undefined if it is not. */
export function refusalOfRevision(pdf: Buffer): string | undefined {
  try {
    return findingOf(pdf);
  } catch (error) {
    if (error instanceof PdfFault) return error.message;
    throw error;
  }
}

/** Returns what a request that asks for validateSignatures is answered; undefined if the PDF is signed. */
export function refusalOf(pdf: Uint8Array): string | undefined {
  try {
    signPdf(pdf, { validateSignatures: true });
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

/** Returns a PDF with one more revision. */
export function revised(pdf: Uint8Array, change: (revision: Revision) => void): Buffer {
  const revision = new Revision(new PdfFile(bytesInMemory(pdf)));
  change(revision);
  return Buffer.concat([pdf, revision.write().bytes]);
}

/** Returns a PDF with a revision of these objects, as they are written here. The file has a cross-reference table. */
export function withObjects(pdf: Buffer, bodies: Readonly<Record<number, string>>): Buffer {
  const text = pdf.toString('latin1');
  const [, previous = ''] = Array.from(text.matchAll(/startxref\n(\d+)\n%%EOF\n/g)).at(-1) ?? [];
  const size = Math.max(100, ...Array.from(text.matchAll(/\/Size (\d+)/g), ([, digits]) => Number(digits)));
  let added = '';
  let table = 'xref\n';
  for (const [number, body] of Object.entries(bodies)) {
    table += `${number} 1\n${String(pdf.length + added.length).padStart(10, '0')} 00000 n \n`;
    added += `${number} 0 obj\n${body}\nendobj\n`;
  }
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R /Prev ${previous} >>\nstartxref\n${pdf.length + added.length}\n%%EOF\n`;
  return Buffer.concat([pdf, Buffer.from(added + table + trailer, 'latin1')]);
}

/** Returns a stream as it is written in a file. */
export function streamText(content: string, entries = ''): string {
  return `<< /Length ${content.length} ${entries} >>\nstream\n${content}\nendstream`;
}

/** Returns a form XObject that covers the page, as it is written in a file. */
export function formText(content: string): string {
  return streamText(content, '/Type /XObject /Subtype /Form /BBox [0 0 600 800]');
}

/** Changes entries of a dictionary, or of the dictionary that a reference leads to. */
export function changing(revision: Revision, object: PdfObject, changes: Readonly<Record<string, PdfObject | undefined>>): void {
  const found = revision.resolved(object);
  if (!(object instanceof PdfReference) || !(found instanceof PdfDictionary)) throw new Error('no dictionary');
  revision.set(object, found.with(changes));
}

export function reference(number: number): PdfReference {
  return new PdfReference(number, 0);
}

export function stream(content: string, entries: Readonly<Record<string, PdfObject>> = {}): PdfStream {
  return new PdfStream(PdfDictionary.of(entries), Buffer.from(content, 'latin1'));
}

/** A form XObject that paints all of its box. */
export function painted(revision: Revision, size = 100): PdfReference {
  const form = { Type: new PdfName('XObject'), Subtype: new PdfName('Form'), BBox: [0, 0, size, size] };
  return revision.add(stream(`1 0 0 rg 0 0 ${size} ${size} re f`, form));
}

/** Adds an annotation to the first page. */
export function addAnnotation(revision: Revision, entries: Readonly<Record<string, PdfObject>>): PdfReference {
  const annotation = revision.add(PdfDictionary.of({ Type: new PdfName('Annot'), Rect: [50, 700, 250, 780], F: 4, ...entries }));
  appendTo(revision, firstPage(revision), 'Annots', annotation);
  return annotation;
}

export function firstPage({ file }: Revision): PdfReference {
  const [page] = pages(file);
  if (page === undefined) throw new Error('no page');
  return page.reference;
}

/** Adds an element to an array of a dictionary. */
export function appendTo(revision: Revision, holder: PdfReference, key: string, element: PdfObject): void {
  const dictionary = revision.resolved(holder);
  const place = dictionary instanceof PdfDictionary ? dictionary.get(key) : null;
  const list = revision.resolved(place);
  const longer = [...(isArray(list) ? list : []), element];
  if (place instanceof PdfReference) revision.set(place, longer);
  else changing(revision, holder, { [key]: longer });
}

/** Adds a field to the form, which is an object of its own or stands in the catalog. */
export function addToForm(revision: Revision, field: PdfReference): void {
  const { catalog, catalogReference } = revision.file;
  const place = catalog.get('AcroForm');
  const form = revision.resolved(place);
  const known = form instanceof PdfDictionary ? form : new PdfDictionary();
  const fields = revision.resolved(known.get('Fields'));
  const changed = known.with({ Fields: [...(isArray(fields) ? fields : []), field], SigFlags: 3 });
  if (place instanceof PdfReference) revision.set(place, changed);
  else changing(revision, catalogReference, { AcroForm: changed });
}

export interface HandMade {
  readonly subFilter?: string;
  /** Of the signature dictionary. */
  readonly entries?: Readonly<Record<string, PdfObject>>;
  /** Of the field. */
  readonly field?: Readonly<Record<string, PdfObject>>;
  /** Number of an object that is the field, instead of a new one. */
  readonly existing?: number;
  /** The signature stands in the field. */
  readonly isDirect?: boolean;
  /** Number of an object that is the byte range. */
  readonly range?: number;
  /** Changes more in the revision; `widget` is that of a new field. */
  readonly change?: (revision: Revision, widget: PdfReference) => void;
  /** Makes the value from what it covers. */
  readonly value: (covered: Uint8Array) => Uint8Array;
}

/** Returns a PDF with a revision that has a signature in a new, invisible field. */
export function signedByHand(pdf: Uint8Array, options: HandMade): Buffer {
  const { subFilter = 'ETSI.CAdES.detached', entries = {}, field = {}, existing, isDirect = false, range, change, value } = options;
  const revision = new Revision(new PdfFile(bytesInMemory(pdf)));
  const room = new SignatureRoom(4096);
  if (range !== undefined) revision.set(reference(range), room.byteRange);
  const dictionary = PdfDictionary.of({
    ...{ Type: new PdfName('Sig'), Filter: new PdfName('Adobe.PPKLite'), SubFilter: new PdfName(subFilter) },
    ...{ ByteRange: range === undefined ? room.byteRange : reference(range), Contents: room.contents, ...entries },
  });
  const signature = isDirect ? dictionary : revision.add(dictionary);
  if (existing !== undefined) changing(revision, reference(existing), { V: signature, ...field });
  const names = { Subtype: new PdfName('Widget'), FT: new PdfName('Sig'), T: textString(`Hand${revision.file.crossReference.size}`) };
  const added = { ...names, Rect: [0, 0, 0, 0], F: 132, P: firstPage(revision), V: signature, ...field };
  if (existing === undefined) {
    const widget = addAnnotation(revision, added);
    addToForm(revision, widget);
    change?.(revision, widget);
  }
  const placed = room.placed(revision.write(), pdf.length);
  const whole = Buffer.concat([pdf, placed.revision]);
  const [, start, end] = placed.byteRange;
  const covered = Buffer.concat([whole.subarray(0, start), whole.subarray(end)]);
  return Buffer.concat([pdf, withContents(placed.revision, placed.byteRange, pdf.length, value(covered))]);
}

/** Returns a PDF with a document time-stamp. */
export async function stamped(pdf: Uint8Array, options: Omit<HandMade, 'value'> = {}): Promise<Buffer> {
  let covered: Uint8Array = Buffer.of();
  const room = { subFilter: 'ETSI.RFC3161', ...options, entries: { Type: new PdfName('DocTimeStamp'), ...options.entries } };
  signedByHand(pdf, { ...room, value: (bytes) => (covered = bytes) && Buffer.of() });
  const token = await tokenFor(covered);
  return signedByHand(pdf, { ...room, value: () => token });
}

export function tokenFor(bytes: Uint8Array): Promise<Uint8Array> {
  return stampToken(createHash('sha256').update(bytes).digest());
}

/** `imprint`: a digest, by SHA-256 unless another algorithm is given. */
export async function stampToken(imprint: Uint8Array, algorithmDer = hashAlgorithmIdentifier('sha256')): Promise<Uint8Array> {
  const { certificate, issuers, algorithm, privateKey } = usualSigner();
  const info = tstInfoDer({
    ...{ policy: '1.2.3', serialNumber: Buffer.of(1), time: new Date(), accuracy: undefined, ordering: false, nonce: undefined },
    imprintDer: der.sequence(algorithmDer, der.octetString(imprint)),
    authorityName: certificate.subject,
  });
  const signer = {
    ...{ certificate, chain: issuers, algorithm },
    sign: (data: Uint8Array) => Promise.resolve(sign('sha256', data, privateKey)),
  };
  return timeStampToken(signer, info, { withCertificates: true });
}
