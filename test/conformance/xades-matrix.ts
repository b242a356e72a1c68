import { Canonicalisation } from '../../src/signatures/request/shared-fields.ts';
import { coveringArray, everySet, type Row } from './covering-array.ts';
import { coveringProperties } from './covering-properties.ts';
import { levelFields } from './levels.ts';
import { signedNode, textDocument, xmlDocuments, type SampleDocument } from './xades-documents.ts';

/** Where an option says nothing: the form or the key has no place for it. */
const none = '-';

/** What XAdES signatures differ in. */
export const factors = {
  form: ['member', 'EXXP_7', 'EGXXP_7', 'DXXP_7', 'DXXP_7-manifest', 'DXXP_7-zip', 'DXXP_7-asic'],
  version: ['VERSION_1_1_1', 'VERSION_1_2_2', 'VERSION_1_3_2', 'VERSION_1_4_1'],
  level: ['B', 'T', 'LT', 'LTA'],
  /** Canonicalisations. Detached documents are signed as they are unless one is asked for. */
  contents: [...Canonicalisation.options, none],
  properties: Canonicalisation.options,
  signedInfo: Canonicalisation.options,
  keyType: ['RSA-2048', 'RSA-4096', 'P-256', 'P-384', 'P-521'],
  digestAlgorithm: ['SHA_256', 'SHA_384', 'SHA_512'],
  RSAVersion: ['PKCS_1_1_5', 'PKCS_1_2_1', none],
  /** Of an enveloped signature: at the root, or at an element that an XPath selects. */
  position: ['LAST_CHILD', 'FIRST_CHILD', 'xpath-LAST_CHILD', 'xpath-FIRST_CHILD', 'xpath-NEXT_SIBLING', none],
  transformation: ['whole', 'xpath', 'signedNode', 'signedNode-xpath', none],
  signedProperties: ['none', ...Object.keys(coveringProperties)],
  document: [...Object.keys(xmlDocuments), 'text'],
  /** How detached documents are named: by their file name, in a directory of the container, or by a template. */
  naming: ['file-name', 'directory', 'template', none],
} as const;

export type XadesCombination = Row<typeof factors>;

/** Whether two options can stand together. */
function fits(pair: Partial<XadesCombination>): boolean {
  const { form, version, level, contents, keyType, RSAVersion, position, transformation, signedProperties, document, naming } = pair;
  const isLong = level === 'LT' || level === 'LTA';
  if (isLong && (form === 'member' || version === 'VERSION_1_1_1' || version === 'VERSION_1_2_2')) return false;
  if (version === 'VERSION_1_1_1' && signedProperties === 'no-time') return false;
  if (keyType !== undefined && RSAVersion !== undefined && keyType.startsWith('RSA-') === (RSAVersion === none)) return false;
  // DSS refuses some of these (knownRefusal), and xmlsec1 does not know RSASSA-PSS: somebody is to judge each signature.
  if (document === 'xml-attributes' && RSAVersion === 'PKCS_1_2_1') return false;
  if (form === undefined) return isOfOneForm(pair);
  const isEnveloped = form === 'member' || form === 'EXXP_7';
  const isDetached = form.startsWith('DXXP_7');
  for (const option of [position, transformation]) if (option !== undefined && isEnveloped === (option === none)) return false;
  if (naming !== undefined && isDetached === (naming === none)) return false;
  if (naming === 'directory' && form !== 'DXXP_7-zip' && form !== 'DXXP_7-asic') return false;
  if (contents === none && !isDetached) return false;
  return document !== 'text' || !isEnveloped;
}

/** The same where the form is open. */
function isOfOneForm({ contents, position, transformation, document, naming }: Partial<XadesCombination>): boolean {
  const isEnveloped = [position, transformation].some((option) => option !== undefined && option !== none);
  const isNot = position === none || transformation === none || document === 'text';
  const isDetached = contents === none || (naming !== undefined && naming !== none);
  return !(isEnveloped && (isNot || isDetached));
}

/** Sets of factors that work together on the same octets: their options stand together in every way. */
const together: readonly (readonly (keyof typeof factors)[])[] = [
  ['form', 'contents', 'properties', 'signedInfo'],
  ['form', 'contents', 'position', 'transformation', 'document'],
  ['form', 'version', 'level', 'keyType'],
  ['keyType', 'digestAlgorithm', 'RSAVersion', 'level'],
];

/** Rows in which every triple of options stands that can, of any three factors, and every combination of some sets of factors. */
export function everyTriple(): XadesCombination[] {
  return coveringArray(factors, { fits, sets: [...together, ...everySet(factors, 3)], tries: 3 });
}

/** Rows in which every pair of options stands that can. */
export function everyPair(): XadesCombination[] {
  return coveringArray(factors, { fits, sets: everySet(factors, 2) });
}

/**
 * The validator that is known to refuse the signature wrongly. Where an XPath filter has run, DSS (Apache Santuario) repeats `xml:lang`, `xml:space` and the
 * like on elements whose parents are in the node-set, in canonical forms that are not exclusive: only the attributes of ancestors that are left out are to
 * be repeated (Canonical XML 1.0 §2.4, 1.1 §2.4). xmlsec1 agrees with signetd.
 */
export function knownRefusal({ form, document, contents, transformation }: XadesCombination): 'dss' | undefined {
  const isEnveloped = form === 'member' || form === 'EXXP_7';
  const keepsAncestors = transformation === 'whole' || transformation === 'signedNode';
  return isEnveloped && keepsAncestors && document === 'xml-attributes' && !contents.startsWith('XML_EXC') ? 'dss' : undefined;
}

export function nameOf(combination: XadesCombination): string {
  return Object.values(combination)
    .filter((option) => option !== none)
    .map((option) => option.replace('VERSION_', '').replace('_WITH_COMMENTS', '+').replace('REC_XML_C_14_N_20010315', 'C14N10'))
    .map((option) => option.replace('XML_EXC_C_14_N', 'EXC').replace('XML_C_14_N_11', 'C14N11'))
    .join('_');
}

export interface XadesRequest {
  readonly parameters: object;
  readonly documents: readonly Pick<SampleDocument, 'fileName' | 'bytes'>[];
}

/** What `sign` is asked. */
export function requestOf(combination: XadesCombination): XadesRequest {
  const { form, level, digestAlgorithm, RSAVersion, document } = combination;
  const sample = xmlDocuments[document];
  const signedProperties = coveringProperties[combination.signedProperties];
  const shared = {
    digestAlgorithm,
    ...(RSAVersion === none ? {} : { RSAVersion }),
    ...(signedProperties === undefined ? {} : { signedProperties }),
    ...levelFields(level),
  };
  const own = { ...formFields(combination), ...(sample === undefined ? {} : placeFields(combination, sample)) };
  const isDetached = form.startsWith('DXXP_7');
  return {
    parameters:
      form === 'member'
        ? { envelopedXAdESSignature: { ...shared, envelopedXAdESParameters: own } }
        : { XP7Signature: { ...shared, XP7Format: isDetached ? 'DXXP_7' : form, XP7Providers: { [providerOf(form)]: own } } },
    // A detached signature covers a second document, which is no XML.
    documents: [sample ?? textDocument, ...(isDetached && sample !== undefined ? [textDocument] : [])],
  };
}

function providerOf(form: XadesCombination['form']): string {
  return `${form.replace(/_7.*/, '7')}Parameters`;
}

function formFields({ form, version, contents, properties, signedInfo, naming }: XadesCombination): object {
  const canonicalisations = {
    ...(contents === none ? {} : { signedContentsC14NAlgURI: contents }),
    signedPropertiesC14NAlgURI: properties,
    signedInfoC14NAlgURI: signedInfo,
  };
  return {
    xadesVersion: version,
    ...canonicalisations,
    ...(form === 'DXXP_7-manifest' ? { manifestActivated: true } : {}),
    ...(form === 'DXXP_7-zip' ? { signatureContainerType: 'ZIP', zipCompressionLevel: 9 } : {}),
    ...(form === 'DXXP_7-asic' ? { signatureContainerType: 'ZIP', zipSignatureFileName: 'META-INF/signatures.xml' } : {}),
    ...(naming === 'directory' ? { zipDirectoryActivated: true, zipDirectoryName: 'pièces jointes' } : {}),
    ...(naming === 'template' ? { signedDataTemplateActivated: true, signedDataTemplate: '${date}/${GUID}-${file_name}' } : {}),
  };
}

function placeFields({ position, transformation }: XadesCombination, sample: SampleDocument): object {
  return {
    ...(position === none ? {} : { signaturePosition: position.replace('xpath-', '') }),
    ...(position.startsWith('xpath-') ? sample.position : {}),
    ...(transformation.endsWith('xpath') ? sample.filter : {}),
    ...(transformation.startsWith('signedNode') ? { signedNode } : {}),
  };
}
