import { z } from 'zod';
import { maxListEntries, Text } from '../../fields/values.ts';
import { xpathMaxCharacters } from '../../xml/xpath.ts';
import { Canonicalisation, Position, XadesVersion } from './shared-fields.ts';

const nameMaxCharacters = 256;
const uriMaxCharacters = 1024;
/** Texts that each signature of a request contains, so they are short. */
const Name = Text.max(nameMaxCharacters, `at most ${nameMaxCharacters} characters`).meta({ minLength: 1 });
const Uri = Text.max(uriMaxCharacters, `at most ${uriMaxCharacters} characters`);

const XPath = Text.meta({ minLength: 1, maxLength: xpathMaxCharacters });

const NamespaceBinding = z
  .strictObject({
    namespaceURI: Uri.meta({ description: 'namespace of the prefix, an absolute URI', minLength: 3 }),
    prefix: Name.describe('prefix used in the XPath'),
  })
  .meta({ id: 'NamespaceBinding', description: 'a prefix and its namespace' });

const canonicalisations = {
  signedContentsC14NAlgURI: Canonicalisation.optional().describe('canonicalisation of the signed content'),
  signedPropertiesC14NAlgURI: Canonicalisation.optional().describe('canonicalisation of the signed properties'),
  signedInfoC14NAlgURI: Canonicalisation.optional().describe('canonicalisation of SignedInfo'),
};
const rootElement = {
  signatureElementName: Name.optional().describe(
    'local name of a root element that contains SignedInfo instead of Signature; rare and discouraged',
  ),
  signatureElementNS: Uri.optional().describe('namespace of that element'),
};
const inDocument = {
  signedNode: Name.optional().describe('Id attribute of the signed element; default: the whole document'),
  xpathSignaturePosition: XPath.optional().describe('XPath of the element at which the signature is placed; default: the root element'),
  xpathSignaturePositionNS: z.array(NamespaceBinding).max(maxListEntries).optional().describe('prefixes that xpathSignaturePosition uses'),
  xpathTransformation: XPath.optional().describe('XPath transform of the signed content'),
  xpathTransformationNS: NamespaceBinding.optional().describe(
    'prefix that xpathTransformation uses; required for elements in the default namespace of the document',
  ),
  signaturePosition: Position.optional().describe('position of the signature relative to that element; default: LAST_CHILD'),
};

export const EnvelopedXadesParameters = z
  .strictObject({
    xadesVersion: XadesVersion.optional().describe('version of XAdES; default: VERSION_1_3_2'),
    ...canonicalisations,
    xadesNsPrefix: Name.optional().describe('prefix of the XAdES elements; default: xad'),
    signatureId: Name.optional().describe('Id attribute of Signature; default: a random one'),
    signedPropertiesId: Name.optional().describe('Id attribute of SignedProperties; default: a random one'),
    signatureValueId: Name.optional().describe('Id attribute of SignatureValue; default: a random one'),
    ...rootElement,
    ...inDocument,
  })
  .meta({ id: 'EnvelopedXAdESParameters', description: 'parameters of enveloped XAdES' });

export const DetachedXadesParameters = z
  .strictObject({
    ...canonicalisations,
    ...rootElement,
    signedDataTemplate: Uri.optional().describe(
      'pattern for the names and URIs of the signed data, with ${GUID}, ${date} and ${file_name}',
    ),
    signedDataTemplateActivated: z.boolean().optional().describe('whether signedDataTemplate is used'),
    zipDirectoryName: Name.optional().describe('directory in the ZIP container'),
    zipDirectoryActivated: z.boolean().optional().describe('whether that directory is used'),
    zipSignatureFileName: Name.optional().describe('name of the signature in the ZIP container'),
    zipCompressionLevel: z.int().min(0).max(9).optional().describe('0 (none, default) to 9'),
    signatureContainerType: z
      .enum(['NONE', 'ZIP'])
      .meta({ id: 'SignatureContainerType', description: 'a container' })
      .optional()
      .describe('NONE: the signature alone; ZIP: a container with the documents'),
    xadesVersion: XadesVersion.optional().describe('version of XAdES; default: VERSION_1_3_2'),
    manifestActivated: z.boolean().optional().describe('whether a Manifest element lists the signed data'),
    xadesPrefix: Name.optional().describe('prefix of the XAdES elements; default: xad'),
  })
  .meta({ id: 'DetachedXAdESParameters', description: 'parameters of detached XAdES' });

export const EnvelopedProviderParameters = z
  .strictObject({
    ...inDocument,
    ...rootElement,
    ...canonicalisations,
    xadesVersion: XadesVersion.optional().describe('version of XAdES; default: VERSION_1_3_2'),
    xadesPrefix: Name.optional().describe('prefix of the XAdES elements; default: xad'),
  })
  .meta({ id: 'EnvelopedXAdESXP7Parameters', description: 'parameters of enveloped XAdES' });

export const EnvelopingProviderParameters = z
  .strictObject({
    xadesVersion: XadesVersion.optional().describe('version of XAdES; default: VERSION_1_3_2'),
    xadesPrefix: Name.optional().describe('prefix of the XAdES elements; default: xad'),
    ...rootElement,
    ...canonicalisations,
  })
  .meta({ id: 'EnvelopingXAdESParameters', description: 'parameters of enveloping XAdES' });
