import { z } from 'zod';
import { maxListEntries, Text } from '../fields/values.ts';
import { Canonicalisation, Position, XadesVersion } from './enumerations.ts';

const NamespaceBinding = z.strictObject({ namespaceURI: Text, prefix: Text });

const canonicalisations = {
  signedContentsC14NAlgURI: Canonicalisation.optional(),
  signedPropertiesC14NAlgURI: Canonicalisation.optional(),
  signedInfoC14NAlgURI: Canonicalisation.optional(),
};
const rootElement = { signatureElementName: Text.optional(), signatureElementNS: Text.optional() };
const inDocument = {
  signedNode: Text.optional(),
  xpathSignaturePosition: Text.optional(),
  xpathSignaturePositionNS: z.array(NamespaceBinding).max(maxListEntries).optional(),
  xpathTransformation: Text.optional(),
  xpathTransformationNS: NamespaceBinding.optional(),
  signaturePosition: Position.optional(),
};

export const EnvelopedXadesParameters = z.strictObject({
  xadesVersion: XadesVersion.optional(),
  ...canonicalisations,
  xadesNsPrefix: Text.optional(),
  signatureId: Text.optional(),
  signedPropertiesId: Text.optional(),
  signatureValueId: Text.optional(),
  ...rootElement,
  ...inDocument,
});

export const DetachedXadesParameters = z.strictObject({
  ...canonicalisations,
  ...rootElement,
  signedDataTemplate: Text.optional(),
  signedDataTemplateActivated: z.boolean().optional(),
  zipDirectoryName: Text.optional(),
  zipDirectoryActivated: z.boolean().optional(),
  zipSignatureFileName: Text.optional(),
  zipCompressionLevel: z.int().min(0).max(9).optional(),
  signatureContainerType: z.enum(['NONE', 'ZIP']).optional(),
  xadesVersion: XadesVersion.optional(),
  manifestActivated: z.boolean().optional(),
  xadesPrefix: Text.optional(),
});

export const EnvelopedProviderParameters = z.strictObject({
  ...inDocument,
  ...rootElement,
  ...canonicalisations,
  xadesVersion: XadesVersion.optional(),
  xadesPrefix: Text.optional(),
});

export const EnvelopingProviderParameters = z.strictObject({
  xadesVersion: XadesVersion.optional(),
  xadesPrefix: Text.optional(),
  ...rootElement,
  ...canonicalisations,
});
