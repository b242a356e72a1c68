import * as fc from 'fast-check';
import type { Content } from '../../../src/documents/content.ts';
import { mutatedDocument } from '../../xml/mutated-document.ts';
import { randomDocument } from '../../xml/random-document.ts';

/** A request's parameters and documents. The parameters need not be valid. */
export interface RandomRequest {
  readonly parameters: unknown;
  readonly contents: readonly Content[];
}

const canonicalisation = fc.constantFrom(
  'XML_EXC_C_14_N',
  'XML_EXC_C_14_N_WITH_COMMENTS',
  'REC_XML_C_14_N_20010315',
  'REC_XML_C_14_N_20010315_WITH_COMMENTS',
  'XML_C_14_N_11',
  'XML_C_14_N_11_WITH_COMMENTS',
);
const version = fc.constantFrom('VERSION_1_1_1', 'VERSION_1_2_2', 'VERSION_1_3_2', 'VERSION_1_4_1');

const expressions = [
  '/*',
  '//*',
  '//*[last()]',
  '//a',
  '//p:a',
  '//@*',
  '//text()',
  '//comment()/..',
  'id("x")',
  'true()',
  'not(self::a)',
  'ancestor-or-self::a',
  'ancestor-or-self::p:a or self::text()',
  'count(//*) > 2',
  '//*[count(//*[count(//*) > 0]) > 0]',
  'string-length(.) mod 2 = 0',
  '/descendant::node()[3]',
  'here()',
  '$x',
  'a | b | //c',
  '//*[',
  '',
  "'",
  'concat(//a, //b)',
  'sum(//@*) + 1',
  'namespace::*',
];
/** Expressions, and parts of them put together anyhow. */
const expression = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...expressions) },
  fc
    .array(fc.constantFrom('//', '*', '[', ']', '(', ')', '@', 'a', 'p:', '|', '=', '1', "'x'", ' or ', 'not', '.', '..', '::', 'self'), {
      maxLength: 8,
    })
    .map((parts) => parts.join('')),
);
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'p', 'x', 'É', 'sig-1', 'Seal') },
  fc.constantFrom('', '1', 'a:b', 'xml', 'ds', 'a b', '"', "x'y", '&', '\u0000', '𝄞', '../a', 'x'.repeat(300)),
);
const uri = fc.constantFrom(
  'urn:a',
  'urn:b',
  'urn:example:seal',
  'http://www.w3.org/2000/09/xmldsig#',
  '',
  'relative',
  'urn:x?a&b',
  'urn:"',
  'urn: x',
);
const binding = fc.record({ namespaceURI: uri, prefix: name });

/** Members that are there one time out of five, so that not every request has an invalid one. */
function some(members: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<object> {
  const rare = Object.entries(members).map(([key, arbitrary]) => [
    key,
    fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary }),
  ]);
  return fc
    .record(Object.fromEntries(rare) as Record<string, fc.Arbitrary<unknown>>)
    .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
}

const shared = {
  signedContentsC14NAlgURI: canonicalisation,
  signedPropertiesC14NAlgURI: canonicalisation,
  signedInfoC14NAlgURI: canonicalisation,
  xadesVersion: version,
  signatureElementName: name,
  signatureElementNS: uri,
};
const inDocument = {
  signedNode: name,
  xpathSignaturePosition: expression,
  xpathSignaturePositionNS: fc.array(binding, { maxLength: 2 }),
  xpathTransformation: expression,
  xpathTransformationNS: binding,
  signaturePosition: fc.constantFrom('FIRST_CHILD', 'LAST_CHILD', 'NEXT_SIBLING'),
};
const inContainer = {
  signedDataTemplate: fc.constantFrom(
    '${file_name}',
    '${GUID}/${date}',
    'a',
    '../${file_name}',
    '%',
    '%41',
    'http://x/${file_name}',
    '${other}',
    'a/b/c',
  ),
  signedDataTemplateActivated: fc.boolean(),
  zipDirectoryName: name,
  zipDirectoryActivated: fc.boolean(),
  zipSignatureFileName: fc.constantFrom('signature.xml', 'META-INF/signatures.xml', 'META-INF/signatures-1.xml', 'mimetype', '../x', ''),
  zipCompressionLevel: fc.integer({ min: -1, max: 10 }),
  signatureContainerType: fc.constantFrom('NONE', 'ZIP'),
  manifestActivated: fc.boolean(),
};
const properties = some({
  signatureType: fc.constantFrom('APPELLATION', 'INDEPENDENT'),
  commitmentText: fc.constantFrom('', 'approved', 'é<&>', '\u0001', '𝄞'),
  signaturePolicy: fc.constantFrom('NONE', 'IMPLICIT', 'EXPLICIT'),
  commitmentTypeId: fc.constantFrom('APPROVAL', 'ORIGIN', 'DELIVERY', 'RECEIPT', 'SENDER'),
  signingTime: some({ source: fc.constantFrom('SYSTEM', 'NONE', 'CLIENT'), time: fc.constant(Date.now()) }),
  signatureProductionPlace: some({ city: name, postalCode: name, stateOrProvince: name }),
  signerRole: fc.record({ claimedRoles: fc.record({ claimedRole: fc.array(name, { maxLength: 2 }) }) }),
});
const general = { digestAlgorithm: fc.constantFrom('SHA_1', 'SHA_256', 'SHA_384', 'SHA_512'), signedProperties: properties };

const xp7 = (format: string, provider: string, members: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> =>
  fc
    .tuple(some(members), some({ ...general, validateSignatures: fc.boolean() }))
    .map(([fields, others]) => ({ XP7Signature: { XP7Format: format, XP7Providers: { [provider]: fields }, ...others } }));

const parameters: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: xp7('EXXP_7', 'EXXP7Parameters', { ...shared, ...inDocument, xadesPrefix: name }) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        some({ ...shared, ...inDocument, xadesNsPrefix: name, signatureId: name, signedPropertiesId: name, signatureValueId: name }),
        some(general),
      )
      .map(([envelopedXAdESParameters, others]) => ({ envelopedXAdESSignature: { envelopedXAdESParameters, ...others } })),
  },
  xp7('EGXXP_7', 'EGXXP7Parameters', { ...shared, xadesPrefix: name }),
  xp7('DXXP_7', 'DXXP7Parameters', { ...shared, ...inContainer, xadesPrefix: name }),
);

const content: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 2, arbitrary: randomDocument.map(({ xml }) => Buffer.from(xml)) },
  mutatedDocument,
);

export const randomRequest: fc.Arbitrary<RandomRequest> = fc.record({
  parameters,
  contents: fc.array(content, { minLength: 1, maxLength: 2 }),
});
