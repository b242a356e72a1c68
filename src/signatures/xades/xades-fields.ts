import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { Refusal } from '../../result-codes.ts';
import type { Canonicalisation as CanonicalisationName } from '../../xml/canonicalisation.ts';
import { isNcName, isXmlText } from '../../xml/xml-text.ts';
import { checkXPath, XPathInvalid, type XPath } from '../../xml/xpath.ts';
import { dsNamespace } from '../../xmldsig/algorithm-uris.ts';
import type { ElementName } from '../../xmldsig/transforms.ts';
import type { Signer } from '../format-entry.ts';
import { algorithmAsked, type AlgorithmFields } from '../request/algorithm-asked.ts';
import type { Canonicalisation } from '../request/shared-fields.ts';
import { checkSigningTime } from '../request/signed-properties-asked.ts';
import type { AskedLevel } from '../levels/asked-level.ts';
import type { SignedProperties } from '../request/signed-properties.ts';
import type { XadesParameters } from './xades-parameters.ts';
import { xades141Namespace, xadesVersions, type XadesVersion } from './xades-version.ts';

type C14n = z.output<typeof Canonicalisation>;

export const canonicalisationNames = {
  XML_EXC_C_14_N: 'EXC_C14N',
  XML_EXC_C_14_N_WITH_COMMENTS: 'EXC_C14N_WITH_COMMENTS',
  REC_XML_C_14_N_20010315: 'C14N',
  REC_XML_C_14_N_20010315_WITH_COMMENTS: 'C14N_WITH_COMMENTS',
  XML_C_14_N_11: 'C14N_11',
  XML_C_14_N_11_WITH_COMMENTS: 'C14N_11_WITH_COMMENTS',
} as const satisfies Record<C14n, CanonicalisationName>;

/** The interface's default. */
const usualPrefix = 'xad';
const ownNamespaces: ReadonlySet<string> = new Set([
  dsNamespace,
  xades141Namespace,
  ...Object.values(xadesVersions).map(({ namespace }) => namespace),
]);
/** Prefixes that the signature uses itself. */
const takenPrefixes: ReadonlySet<string> = new Set(['ds', 'sig']);

/** Fields that all forms of XAdES have, whatever their member. */
export interface XadesFields {
  readonly xadesVersion?: XadesVersion | undefined;
  readonly signedContentsC14NAlgURI?: C14n | undefined;
  readonly signedPropertiesC14NAlgURI?: C14n | undefined;
  readonly signedInfoC14NAlgURI?: C14n | undefined;
  readonly signatureElementName?: string | undefined;
  readonly signatureElementNS?: string | undefined;
}

/** What the fields ask for, checked. */
export type XadesOptions = Pick<XadesParameters, 'version' | 'prefix' | 'canonicalisation' | 'root' | 'properties'>;

/**
 * Reads the fields. `prefix` and its field: their names differ between the members.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT
 */
export function xadesOptions(
  fields: XadesFields,
  { prefix = usualPrefix, prefixField }: { readonly prefix: string | undefined; readonly prefixField: string },
  properties: SignedProperties,
  { at, propertiesAt }: { readonly at: string; readonly propertiesAt: string },
): XadesOptions {
  const { xadesVersion: version = 'VERSION_1_3_2' } = fields;
  if (!isNcName(prefix) || takenPrefixes.has(prefix) || /^xml/i.test(prefix)) {
    throw invalid(
      `${at}/${prefixField}`,
      'not a namespace prefix that can be used: a name without a colon, other than ds, sig and those that begin with xml',
    );
  }
  checkProperties(properties, version, propertiesAt);
  const exclusive = 'XML_EXC_C_14_N';
  return {
    ...{ version, prefix, properties },
    canonicalisation: {
      contents: canonicalisationNames[fields.signedContentsC14NAlgURI ?? exclusive],
      properties: canonicalisationNames[fields.signedPropertiesC14NAlgURI ?? exclusive],
      signedInfo: canonicalisationNames[fields.signedInfoC14NAlgURI ?? exclusive],
    },
    root: rootOf(fields, at),
  };
}

function rootOf({ signatureElementName: localName, signatureElementNS: namespace }: XadesFields, at: string): ElementName | undefined {
  if (localName === undefined) {
    if (namespace === undefined) return undefined;
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/signatureElementNS`, message: 'needs signatureElementName' });
  }
  if (!isNcName(localName)) throw invalid(`${at}/signatureElementName`, 'not the local name of an element');
  if (namespace !== undefined && !isNamespace(namespace)) throw invalid(`${at}/signatureElementNS`, notNamespace);
  if (namespace !== undefined && ownNamespaces.has(namespace))
    throw invalid(`${at}/signatureElementNS`, 'the namespaces of XML Signature and XAdES have no other root of a signature');
  return { namespace, localName };
}

/** Checks the properties. @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT */
function checkProperties({ signingTime, commitmentText, place, claimedRoles }: SignedProperties, version: XadesVersion, at: string): void {
  if (signingTime === 'NONE' && version === 'VERSION_1_1_1')
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/signingTime/source`, message: 'XAdES 1.1.1 requires a signing time' });
  const texts = {
    commitmentText,
    'signatureProductionPlace/city': place?.city,
    'signatureProductionPlace/stateOrProvince': place?.stateOrProvince,
    'signatureProductionPlace/postalCode': place?.postalCode,
    ...Object.fromEntries(claimedRoles.map((role, index) => [`signerRole/claimedRoles/claimedRole/${index}`, role])),
  };
  for (const [field, text] of Object.entries(texts)) {
    if (text === '') throw invalid(`${at}/${field}`, 'must not be empty');
    if (text !== undefined && !isXmlText(text)) throw invalid(`${at}/${field}`, 'contains a character that XML does not allow');
  }
}

/**
 * Returns what the signer adds to the parameters, with a random seed of the Ids. `at`: JSON Pointer
 * of the member with the shared fields.
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
export function xadesSigner(
  { properties }: Pick<XadesParameters, 'properties'>,
  shared: AlgorithmFields,
  at: string,
  signer: Signer | undefined,
): Pick<XadesParameters, 'algorithm' | 'seed'> {
  if (signer === undefined) throw new Error('a XAdES signature binds the certificate of its signer');
  const algorithm = algorithmAsked(shared, signer.key, at);
  checkSigningTime(properties, signer.chain.certificate, `${at}/signedProperties`);
  return { algorithm, seed: randomUUID() };
}

/** Checks that the version has a place for long-term data. @throws {Refusal} UNSUPPORTED */
export function checkLongTerm(level: AskedLevel | undefined, { version }: XadesOptions, at: string): void {
  if (level === undefined || level.level === 'T' || xadesVersions[version].hasV2) return;
  throw new Refusal('UNSUPPORTED', {
    at: `${at}/xadesVersion`,
    message: 'longTermValidation needs XAdES VERSION_1_3_2 or VERSION_1_4_1; earlier versions support levels B and T',
  });
}

/**
 * An XPath field with the bindings of its prefixes.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT
 */
export function xpathOf(
  expression: string | undefined,
  bindings: readonly { readonly prefix: string; readonly namespaceURI: string }[],
  at: string,
  bindingsAt: string,
): XPath | undefined {
  for (const [index, { prefix, namespaceURI }] of bindings.entries()) {
    const there = bindingsAt.replace('*', String(index));
    if (!isNcName(prefix) || /^xml/i.test(prefix)) throw invalid(`${there}/prefix`, 'not a namespace prefix');
    if (prefix === 'ds' && namespaceURI !== dsNamespace)
      throw invalid(`${there}/prefix`, 'ds is the prefix of XML Signature in the signature');
    if (!isNamespace(namespaceURI)) throw invalid(`${there}/namespaceURI`, notNamespace);
    if (bindings.slice(0, index).some((other) => other.prefix === prefix))
      throw new Refusal('FIELDS_INCONSISTENT', { at: `${there}/prefix`, message: 'the prefix is bound twice' });
  }
  if (expression === undefined) return undefined;
  if (!isXmlText(expression)) throw invalid(at, 'contains a character that XML does not allow');
  const xpath = { expression, namespaces: Object.fromEntries(bindings.map(({ prefix, namespaceURI }) => [prefix, namespaceURI])) };
  try {
    checkXPath(xpath);
  } catch (error) {
    // libxml2 says in its own words what it does not understand.
    if (error instanceof XPathInvalid)
      throw new Refusal('FIELD_INVALID', { at, message: error.message, recorded: 'not a valid XPath 1.0 expression' });
    throw error;
  }
  return xpath;
}

const notNamespace = 'not an absolute URI without &, such as urn:example:invoice';

/** Namespaces that XML itself reserves (Namespaces in XML §3). */
const reservedNamespaces: ReadonlySet<string> = new Set(['http://www.w3.org/XML/1998/namespace', 'http://www.w3.org/2000/xmlns/']);

/**
 * Canonical XML has no relative namespace URIs (§1.3), and implementations canonicalise `&` in two
 * ways.
 */
function isNamespace(uri: string): boolean {
  if (reservedNamespaces.has(uri)) return false;
  return /^[A-Za-z][A-Za-z0-9+.-]*:[\x21\x23-\x25\x27-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/.test(uri);
}

export function invalid(at: string, message: string): Refusal {
  return new Refusal('FIELD_INVALID', { at, message });
}
