import { z } from 'zod';
import { maxListEntries, Text } from '../../fields/values.ts';
import { Canonicalisation, Position, XadesVersion } from './shared-fields.ts';

const NamespaceBinding = z.strictObject({
  namespaceURI: Text.describe('namespace that the prefix stands for'),
  prefix: Text.describe('prefix of the XPath'),
});

const canonicalisations = {
  signedContentsC14NAlgURI: Canonicalisation.optional().describe('canonicalisation of the signed content'),
  signedPropertiesC14NAlgURI: Canonicalisation.optional().describe('canonicalisation of the signed properties'),
  signedInfoC14NAlgURI: Canonicalisation.optional().describe('canonicalisation of SignedInfo'),
};
const rootElement = {
  signatureElementName: Text.optional().describe(
    'local name of a root element that holds the SignedInfo instead of Signature; rare, discouraged',
  ),
  signatureElementNS: Text.optional().describe('namespace of that element'),
};
const inDocument = {
  signedNode: Text.optional().describe('Id attribute of the element that is signed; absent: the whole document'),
  xpathSignaturePosition: Text.optional().describe('XPath of the element that the signature is placed at; absent: the root element'),
  xpathSignaturePositionNS: z.array(NamespaceBinding).max(maxListEntries).optional().describe('prefixes that xpathSignaturePosition uses'),
  xpathTransformation: Text.optional().describe('XPath transformation of what is signed'),
  xpathTransformationNS: NamespaceBinding.optional().describe(
    'the prefix that xpathTransformation uses; needed for elements in the default namespace of the document',
  ),
  signaturePosition: Position.optional().describe('where the signature is placed, seen from that element; absent: LAST_CHILD'),
};

export const EnvelopedXadesParameters = z.strictObject({
  xadesVersion: XadesVersion.optional().describe('version of XAdES; absent: VERSION_1_3_2'),
  ...canonicalisations,
  xadesNsPrefix: Text.optional().describe('prefix of the XAdES elements; absent: xad'),
  signatureId: Text.optional().describe('Id attribute of Signature; absent: a random one'),
  signedPropertiesId: Text.optional().describe('Id attribute of SignedProperties; absent: a random one'),
  signatureValueId: Text.optional().describe('Id attribute of SignatureValue; absent: a random one'),
  ...rootElement,
  ...inDocument,
});

export const DetachedXadesParameters = z.strictObject({
  ...canonicalisations,
  ...rootElement,
  signedDataTemplate: Text.optional().describe(
    'pattern of the names of what is signed and of their URIs, with ${GUID}, ${date} and ${file_name}',
  ),
  signedDataTemplateActivated: z.boolean().optional().describe('whether signedDataTemplate is used'),
  zipDirectoryName: Text.optional().describe('directory in the ZIP container'),
  zipDirectoryActivated: z.boolean().optional().describe('whether that directory is used'),
  zipSignatureFileName: Text.optional().describe('name of the signature in the ZIP container'),
  zipCompressionLevel: z.int().min(0).max(9).optional().describe('0 (none, the default) to 9'),
  signatureContainerType: z.enum(['NONE', 'ZIP']).optional().describe('NONE: the signature alone; ZIP: a container with the documents'),
  xadesVersion: XadesVersion.optional().describe('version of XAdES; absent: VERSION_1_3_2'),
  manifestActivated: z.boolean().optional().describe('whether a Manifest element lists what is signed'),
  xadesPrefix: Text.optional().describe('prefix of the XAdES elements; absent: xad'),
});

export const EnvelopedProviderParameters = z.strictObject({
  ...inDocument,
  ...rootElement,
  ...canonicalisations,
  xadesVersion: XadesVersion.optional().describe('version of XAdES; absent: VERSION_1_3_2'),
  xadesPrefix: Text.optional().describe('prefix of the XAdES elements; absent: xad'),
});

export const EnvelopingProviderParameters = z.strictObject({
  xadesVersion: XadesVersion.optional().describe('version of XAdES; absent: VERSION_1_3_2'),
  xadesPrefix: Text.optional().describe('prefix of the XAdES elements; absent: xad'),
  ...rootElement,
  ...canonicalisations,
});
