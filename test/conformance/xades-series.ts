import { join } from 'node:path';
import { levelFields, levels, type Level } from './levels.ts';
import type { Sample, ValidationRequest } from './signatures.ts';
import type { KeyType, SigningService } from './signing-service.ts';
import { signedNode, textDocument, xmlDocuments } from './xades-documents.ts';
import type { XadesCombination } from './xades-matrix.ts';
import { writtenEvidence } from './xades-signatures.ts';

/** One signature of a series. */
interface Step {
  readonly form: XadesCombination['form'];
  readonly keyType: KeyType;
  readonly level: Level;
  readonly parameters: object;
  /** No validator knows a root element of another name: such a signature is only made, for the next ones to stand beside it. */
  readonly hasOwnRoot?: boolean;
}

interface Series {
  /** Name of the document that the first signs; each next one signs what the one before delivered. */
  readonly document: string;
  readonly steps: readonly Step[];
  /** A validator that is known to refuse the second signature and later ones wrongly. */
  readonly refusedBy?: string;
}

interface StepOptions {
  readonly keyType?: KeyType;
  /** Members beside those of the form. */
  readonly shared?: object;
  readonly form?: Step['form'];
}

function xp7(format: string, level: Level, fields: object, { keyType = 'P-256', shared = {}, form }: StepOptions = {}): Step {
  const XP7Providers = { [`${format.replace('_', '')}Parameters`]: fields };
  const parameters = { XP7Signature: { XP7Format: format, ...levelFields(level), ...shared, XP7Providers } };
  return { form: form ?? (format as Step['form']), keyType, level, parameters };
}

function enveloped(level: Level, fields: object, options?: StepOptions): Step {
  return xp7('EXXP_7', level, fields, options);
}

function enveloping(level: Level, fields: object, options?: StepOptions): Step {
  return xp7('EGXXP_7', level, fields, options);
}

function detached(level: Level, fields: object, options?: StepOptions): Step {
  return xp7('DXXP_7', level, fields, options);
}

function byMember(level: Level, fields: object, keyType: KeyType = 'RSA-2048'): Step {
  const parameters = { envelopedXAdESSignature: { ...levelFields(level), envelopedXAdESParameters: fields } };
  return { form: 'member', keyType, level, parameters };
}

function inAll(c14n: string): object {
  return { signedContentsC14NAlgURI: c14n, signedPropertiesC14NAlgURI: c14n, signedInfoC14NAlgURI: c14n };
}

const c14n10 = inAll('REC_XML_C_14_N_20010315');
const c14n10Comments = inAll('REC_XML_C_14_N_20010315_WITH_COMMENTS');
const c14n11 = inAll('XML_C_14_N_11');
const c14n11Comments = inAll('XML_C_14_N_11_WITH_COMMENTS');
const exclusiveComments = inAll('XML_EXC_C_14_N_WITH_COMMENTS');

const version = {
  old: { xadesVersion: 'VERSION_1_1_1' },
  older: { xadesVersion: 'VERSION_1_2_2' },
  newest: { xadesVersion: 'VERSION_1_4_1' },
};
const first = { signaturePosition: 'FIRST_CHILD' };
const ownRoot = { signatureElementName: 'Visa', signatureElementNS: 'urn:example:visa' };
const asic = { signatureContainerType: 'ZIP', zipSignatureFileName: 'META-INF/signatures.xml' };

function at(document: string, place: string): object {
  return { ...xmlDocuments[document]?.position, signaturePosition: place };
}

const { plain, 'default-namespace': withDefault, 'crlf-and-comments': withComments } = xmlDocuments;

/**
 * Documents with two and three signatures of different forms, versions and canonicalisations. Not among them: an enveloping signature of a document with an
 * enveloped one, which leaves out all that stands in a ds:Signature and therefore is valid only after the document is taken out again.
 */
export const series: Readonly<Record<string, Series>> = {
  'enveloped-twice': { document: 'plain', steps: [byMember('B', {}), enveloped('T', {})] },
  'enveloped-in-three-places': {
    document: 'plain',
    steps: [
      enveloped('B', c14n10),
      enveloped('B', { ...version.old, ...c14n11, ...first }, { keyType: 'RSA-2048' }),
      byMember('T', { ...version.older, ...c14n10Comments, ...at('plain', 'NEXT_SIBLING') }),
    ],
  },
  'enveloped-in-one-element': {
    document: 'default-namespace',
    steps: [
      enveloped('T', { ...c14n11Comments, ...at('default-namespace', 'FIRST_CHILD') }),
      enveloped('B', { ...c14n10, ...at('default-namespace', 'FIRST_CHILD') }, { keyType: 'P-521' }),
      byMember('B', { ...version.newest, ...at('default-namespace', 'LAST_CHILD') }),
    ],
  },
  'parts-then-whole': {
    document: 'default-namespace',
    steps: [
      enveloped('B', { ...c14n11, signedNode }),
      byMember('T', { ...exclusiveComments, ...withDefault?.filter }, 'RSA-4096'),
      enveloped('LTA', { ...c14n10Comments, ...first }, { keyType: 'P-384', shared: { validateSignatures: true } }),
    ],
  },
  'whole-then-parts': {
    document: 'crlf-and-comments',
    steps: [
      enveloped('T', c14n11Comments),
      enveloped('B', { ...c14n10, ...withComments?.filter, signedNode }),
      enveloped('B', { ...exclusiveComments, signedNode, ...at('crlf-and-comments', 'NEXT_SIBLING') }),
    ],
  },
  'signature-in-the-part-that-is-signed-next': {
    document: 'plain',
    steps: [
      enveloped('B', { xpathSignaturePosition: `//*[@Id='${signedNode}']`, ...first, ...c14n10 }),
      enveloped('T', { signedNode, ...c14n11 }),
      enveloped('LT', { ...plain?.filter }),
    ],
  },
  'long-term-each': {
    document: 'plain',
    steps: [
      enveloped('LTA', {}),
      enveloped('LTA', { ...version.newest, ...c14n10, ...first }, { keyType: 'P-521', shared: { digestAlgorithm: 'SHA_512' } }),
      enveloped('LT', c14n11, { keyType: 'RSA-2048', shared: { RSAVersion: 'PKCS_1_2_1', validateSignatures: true } }),
    ],
  },
  'levels-that-fall': {
    document: 'crlf-and-comments',
    steps: [enveloped('LTA', c14n10), enveloped('LT', exclusiveComments), byMember('T', {})],
  },
  'old-versions-in-utf-16': {
    document: 'utf-16',
    steps: [
      byMember('T', { ...version.old, ...c14n10 }),
      enveloped('T', { ...version.older, ...c14n11, ...first }),
      enveloped('LTA', version.newest),
    ],
  },
  'twice-in-latin-1': { document: 'iso-8859-1', steps: [enveloped('B', c14n11Comments), byMember('T', { ...c14n10, ...first })] },
  'own-root-then-usual': {
    document: 'plain',
    steps: [{ ...enveloped('B', ownRoot), hasOwnRoot: true }, enveloped('T', c14n10), byMember('B', { ...first, ...c14n11Comments })],
  },
  'own-root-without-namespace-then-usual': {
    document: 'default-namespace',
    steps: [{ ...byMember('T', { signatureElementName: 'Visa', ...first }), hasOwnRoot: true }, enveloped('LTA', c14n10Comments)],
  },
  'enveloped-then-detached': { document: 'plain', steps: [enveloped('B', { signedNode }), detached('LT', c14n11)] },
  'enveloping-thrice': {
    document: 'default-namespace',
    steps: [
      enveloping('B', c14n10),
      enveloping('LTA', {}, { keyType: 'P-384' }),
      enveloping('T', { ...version.newest, ...c14n11Comments }),
    ],
  },
  'enveloping-one-of-another-version': {
    document: 'plain',
    steps: [enveloping('T', c14n10), enveloping('B', { ...version.older, ...c14n11 }), enveloping('B', version.old)],
    // It reads both signatures with the namespace of one of them.
    refusedBy: 'dss',
  },
  'enveloped-twice-then-asic': {
    document: 'plain',
    steps: [
      enveloped('T', {}),
      byMember('B', { ...version.old, ...first }),
      detached('LTA', { ...asic, ...c14n10 }, { form: 'DXXP_7-asic' }),
    ],
  },
  'enveloped-then-zip': {
    document: 'crlf-and-comments',
    steps: [enveloped('LT', c14n11), detached('B', { signatureContainerType: 'ZIP', ...exclusiveComments }, { form: 'DXXP_7-zip' })],
  },
  'detached-of-detached': {
    document: 'plain',
    steps: [detached('T', {}), detached('LTA', c14n10, { keyType: 'RSA-4096' }), enveloping('B', { ...version.newest, ...c14n11 })],
  },
};

/** Makes a series; after each signature, the file is to be judged with all signatures in it. */
export async function makeSeries(service: SigningService, directory: string, name: string): Promise<Sample[]> {
  const { document = '', steps = [], refusedBy } = series[name] ?? {};
  const made: Sample[] = [];
  let current: { readonly bytes: Buffer; readonly fileName: string } = xmlDocuments[document] ?? textDocument;
  let inFile: Level[] = [];
  let content: ValidationRequest['content'];
  for (const [index, { form, keyType, level, parameters, hasOwnRoot = false }] of steps.entries()) {
    const evidence = await service.sign(keyType, parameters, [current]);
    const files = writtenEvidence(form, evidence, [current], join(directory, `series-${name}-${index + 1}`));
    // A detached signature stands in a file of its own.
    if (form.startsWith('DXXP_7')) inFile = [];
    content = files.content ?? content;
    if (!hasOwnRoot) inFile.push(level);
    const lowest = levels.find((one) => inFile.includes(one));
    if (lowest !== undefined)
      made.push({
        request: { ...files, ...(content === undefined ? {} : { content }), trust: service.trust, require: lowest },
        ...(refusedBy === undefined || index === 0 ? {} : { refusedBy }),
      });
    current = { bytes: evidence, fileName: `signed-${index + 1}.xml` };
  }
  return made;
}
