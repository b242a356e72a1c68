import type { InputDocument } from '../../documents/document.ts';
import { Refusal } from '../../result-codes.ts';
import { clashingName, entryNameFault, maxNameBytes, portabilityFault } from '../../zip/entry-name.ts';
import { derivedId } from './xades-parameters.ts';

/** Name of a signed file and the URI of its reference. */
export interface DataName {
  /** Path in a container. */
  readonly name: string;
  /** The same, percent-encoded (RFC 3986). */
  readonly uri: string;
}

/** How the signed files are named. */
export interface NamingRules {
  /** Pattern of the URI; undefined: the name of the document. */
  readonly template: string | undefined;
  /** Whether the files are in a container. */
  readonly isPacked: boolean;
  /** Directory in the container; undefined: none. */
  readonly directory: string | undefined;
  readonly seed: string;
  readonly now: Date;
  /** JSON Pointer of the member with the template. */
  readonly at: string;
}

/**
 * Returns the names of the signed files, in the order of the documents.
 * @throws {Refusal} FIELD_INVALID for a name that a container cannot have; FIELDS_INCONSISTENT if
 * two documents have the same
 */
export function dataNames(documents: readonly Pick<InputDocument, 'id' | 'fileName'>[], rules: NamingRules): readonly DataName[] {
  const names = documents.map((document, index) => {
    const refuseIf = (fault: string | undefined): void => {
      if (fault === undefined) return;
      throw new Refusal('FIELD_INVALID', { at: placeOf(documents, index, rules), message: `the name of the signed file ${fault}` });
    };
    // An ID can be as long as a request, and a template may have it many times.
    if (Buffer.byteLength(document.fileName ?? document.id) > maxNameBytes) refuseIf(`has more than ${maxNameBytes} bytes in UTF-8`);
    const named = dataName(document, index, rules);
    refuseIf(entryNameFault(named.name) ?? (rules.isPacked ? portabilityFault(named.name) : undefined));
    return named;
  });
  const clash = clashingName(names.map(({ name }) => name));
  if (clash === undefined) return names;
  const message = `two documents have the same name ${JSON.stringify(names[clash]?.name ?? '')}, upper and lower case being the same`;
  throw new Refusal('FIELDS_INCONSISTENT', { at: placeOf(documents, clash, rules), message });
}

/** Returns the pointer to the field that a name comes from. */
function placeOf(documents: readonly Pick<InputDocument, 'fileName'>[], index: number, { template, at }: NamingRules): string {
  if (template !== undefined) return `${at}/signedDataTemplate`;
  return `/inputDocuments/${index}/${documents[index]?.fileName === undefined ? 'ID' : 'fileName'}`;
}

function dataName({ id, fileName = id }: Pick<InputDocument, 'id' | 'fileName'>, index: number, rules: NamingRules): DataName {
  const { template, directory, seed, now, at } = rules;
  const folder = directory === undefined ? '' : `${directory}/`;
  if (template === undefined) return { name: `${folder}${fileName}`, uri: encoded(`${folder}${fileName}`) };
  const variables = { GUID: guid(seed, index), date: compactTime(now), file_name: encodeURIComponent(fileName) };
  const uri = template.replaceAll(/\$\{(GUID|date|file_name)\}/g, (_all, name: keyof typeof variables) => variables[name]);
  return { name: `${folder}${decoded(uri, `${at}/signedDataTemplate`)}`, uri: `${encoded(folder)}${uri}` };
}

function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

function decoded(uri: string, at: string): string {
  try {
    return decodeURIComponent(uri);
  } catch (error) {
    if (error instanceof URIError) throw new Refusal('FIELD_INVALID', { at, message: 'contains percent-encoding that is not UTF-8' });
    throw error;
  }
}

/** Returns an identifier in the form of RFC 9562, version 4. */
function guid(seed: string, index: number): string {
  const digits = derivedId(seed, `guid ${index}`);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}

/** yyyyMMdd'T'HHmmss'Z' */
function compactTime(now: Date): string {
  return now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
}
