import type { SignedFile } from '../../documents/content.ts';
import type { Evidence } from '../../documents/document.ts';
import { zipContainer, type ZipEntry, type ZipLevel } from '../../documents/zip-container.ts';
import { Refusal } from '../../result-codes.ts';
import { element, startTag } from '../../xml/xml-text.ts';
import { clashingName } from '../../zip/entry-name.ts';
import { zipFault } from '../../zip/limits.ts';

/** The ZIP container of a detached signature. Plain JSON. */
export interface ContainerRules {
  /** Path of the signature. */
  readonly signatureName: string;
  readonly level: ZipLevel;
}

/** A signed file. */
export interface DataFile {
  readonly name: string;
  readonly mimeType: string;
  readonly content: Uint8Array | SignedFile;
}

const asicMimeType = 'application/vnd.etsi.asic-e+zip';
const asicManifestName = 'META-INF/manifest.xml';
const manifestNamespace = 'urn:oasis:names:tc:opendocument:xmlns:manifest:1.0';
/** More than any signature: what a container may need beside the signed files. */
const signatureBytesMax = 16 * 1024 * 1024;

/** Root element of a signature file in an ASiC-E container (EN 319 162-1 §4.4.3.2). */
export const asicRootTag = startTag('asic:XAdESSignatures', { 'xmlns:asic': 'http://uri.etsi.org/02918/v1.2.1#' });

/** Whether the name of the signature makes the container an ASiC-E (formats, XAdES). */
export function isAsic({ signatureName }: ContainerRules): boolean {
  return /^META-INF\/signatures[^/]*\.xml$/.test(signatureName);
}

/**
 * Checks the container before anything is signed. `files`: the signed files. `at`: JSON Pointer of
 * the member with the container's options.
 * @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function checkContainer(
  rules: ContainerRules,
  files: readonly { readonly name: string; readonly bytes: number }[],
  at: string,
): void {
  const others = [rules.signatureName, ...(isAsic(rules) ? ['mimetype', asicManifestName] : [])];
  const clash = clashingName([...others, ...files.map(({ name }) => name)]);
  const clashing = clash === undefined ? undefined : files[clash - others.length]?.name;
  if (clashing !== undefined) {
    const message = `the signed file ${JSON.stringify(clashing)} has a name that the container needs for itself`;
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/zipSignatureFileName`, message });
  }
  const hidden = isAsic(rules) ? files.find(({ name }) => /^meta-inf\//i.test(name)) : undefined;
  if (hidden !== undefined) {
    const message = `the signed file ${JSON.stringify(hidden.name)} is in META-INF, which an ASiC-E container needs for itself`;
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/zipSignatureFileName`, message });
  }
  const fault = zipFault([{ name: rules.signatureName, bytes: signatureBytesMax }, ...files]);
  if (fault !== undefined) throw new Refusal('UNSUPPORTED', { at: '/inputDocuments', message: fault.text });
}

/**
 * Returns the container. The first entry of an ASiC-E is its media type (EN 319 162-1 Annex A.1).
 */
export function containerEvidence(rules: ContainerRules, files: readonly DataFile[], signature: Uint8Array, modified: Date): Evidence {
  const { level, signatureName } = rules;
  const data = files.map(({ name, content }): ZipEntry => ({ name, content, level }));
  const ofSignature: ZipEntry = { name: signatureName, content: signature, level };
  if (!isAsic(rules)) return { content: zipContainer([...data, ofSignature], modified), mimeType: 'application/zip', ending: '.zip' };
  const entries: ZipEntry[] = [
    { name: 'mimetype', content: Buffer.from(asicMimeType), level: 0 },
    ...data,
    { name: asicManifestName, content: Buffer.from(asicManifest(files)), level },
    ofSignature,
  ];
  return { content: zipContainer(entries, modified), mimeType: asicMimeType, ending: '.asice' };
}

/** The list of files (EN 319 162-1 §4.4.3.2 refers to OpenDocument 1.2, part 3). */
function asicManifest(files: readonly DataFile[]): string {
  const entry = (path: string, mimeType: string): string =>
    element('manifest:file-entry', { 'manifest:full-path': path, 'manifest:media-type': mimeType });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element(
    'manifest:manifest',
    { 'xmlns:manifest': manifestNamespace, 'manifest:version': '1.2' },
    entry('/', asicMimeType),
    ...files.map(({ name, mimeType }) => entry(name, mimeType)),
  )}`;
}
