import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  certificateRequest,
  codeOf,
  contentDocument,
  description,
  evidenceOf,
  messageOf,
  newKey,
  root,
  secretOf,
  textOf,
  type ApiAnswer,
  type ClientName,
  type TestKey,
} from '../support/api.ts';
import { file, idOf, upload } from '../support/files.ts';
import { succeeds } from '../support/succeeds.ts';
import { xmlsecVerdict, type XmlsecOptions } from '../support/xmlsec.ts';

const clients = ['app', 'other', 'p384'] as const;
const keys: Partial<Record<ClientName, TestKey>> = {};
beforeAll(async () => {
  for (const client of clients) keys[client] = await newKey(client);
});
const keyOf = (client: ClientName): TestKey => {
  const key = keys[client];
  if (key === undefined) throw new Error(`no key of ${client}`);
  return key;
};

const invoice = `<?xml version="1.0" encoding="UTF-8"?>
<i:invoice xmlns:i="urn:example:invoice" xmlns="urn:example:line" xml:lang="fr"><!-- kept -->
  <line Id="first" b="2" a="1">Café &amp; thé</line><line Id="second"/><i:total ID="sum">12</i:total>
</i:invoice>
`;

type Enveloped = 'envelopedXAdESSignature' | 'EXXP_7' | 'EGXXP_7';
const parametersOf = (form: Enveloped, own: object = {}, more: object = {}): object => {
  if (form === 'envelopedXAdESSignature') return { [form]: { envelopedXAdESParameters: own, ...more } };
  return { XP7Signature: { XP7Format: form, XP7Providers: { [form.replace('_7', '7Parameters')]: own }, ...more } };
};
const sign = async (
  parameters: object,
  inputDocuments: readonly object[],
  { client = 'other', ...more }: { client?: ClientName; optionalInputs?: object; keyReference?: object } = {},
): Promise<ApiAnswer> => call(client, 'signature/sign', { keyReference: secretOf(keyOf(client)), parameters, inputDocuments, ...more });
const verdict = (document: Buffer, options: Partial<XmlsecOptions> = {}): string =>
  xmlsecVerdict(document, { root: readFileSync(root), ...options });
const documentOf = ({ body }: ApiAnswer, index = 0) => body['evidenceObjects']?.[index]?.['document'];
const forms = ['envelopedXAdESSignature', 'EXXP_7', 'EGXXP_7'] as const;

describe.each(forms)('%s', (form) => {
  it.each(clients)('of %s is accepted by xmlsec1, until the document changes', async (client) => {
    const evidence = evidenceOf(succeeds(await sign(parametersOf(form), [contentDocument(invoice)], { client })));
    expect(verdict(evidence)).toBe('OK');
    expect(verdict(Buffer.from(evidence.toString().replace('12<', '13<')))).not.toBe('OK');
  });

  it.each([
    ['app', { digestAlgorithm: 'SHA_512' }],
    ['app', { RSAVersion: 'PKCS_1_1_5', digestAlgorithm: 'SHA_384' }],
    ['other', { digestAlgorithm: 'SHA_384' }],
    ['p384', { digestAlgorithm: 'SHA_512' }],
    ['other', { signedProperties: { signingTime: { source: 'NONE' } } }],
    [
      'other',
      {
        signedProperties: {
          signaturePolicy: 'IMPLICIT',
          commitmentText: 'Lu <et> approuvé',
          signatureProductionPlace: { city: 'Orléans' },
          signerRole: { claimedRoles: { claimedRole: ['Notaire', 'Président'] } },
        },
      },
    ],
    ['other', { timeStamp: {} }],
  ] as const)('of %s with %o is accepted too', async (client, more) => {
    expect(verdict(evidenceOf(succeeds(await sign(parametersOf(form, {}, more), [contentDocument(invoice)], { client }))))).toBe('OK');
  });

  it.each([
    'XML_EXC_C_14_N',
    'XML_EXC_C_14_N_WITH_COMMENTS',
    'REC_XML_C_14_N_20010315',
    'REC_XML_C_14_N_20010315_WITH_COMMENTS',
    'XML_C_14_N_11',
    'XML_C_14_N_11_WITH_COMMENTS',
  ])('with %s: comments are signed if they are wanted', async (algorithm) => {
    const own = { signedContentsC14NAlgURI: algorithm, signedPropertiesC14NAlgURI: algorithm, signedInfoC14NAlgURI: algorithm };
    const evidence = evidenceOf(succeeds(await sign(parametersOf(form, own), [contentDocument(invoice)])));
    expect(verdict(evidence)).toBe('OK');
    const changed = Buffer.from(evidence.toString().replace('<!-- kept -->', '<!-- changed -->'));
    expect(verdict(changed) === 'OK').toBe(!algorithm.endsWith('WITH_COMMENTS'));
  });

  it.each(['VERSION_1_1_1', 'VERSION_1_2_2', 'VERSION_1_3_2', 'VERSION_1_4_1'])(
    'of %s is accepted at levels B and T',
    async (xadesVersion) => {
      for (const more of [{}, { timeStamp: {} }]) {
        const evidence = evidenceOf(succeeds(await sign(parametersOf(form, { xadesVersion }, more), [contentDocument(invoice)])));
        expect(verdict(evidence)).toBe('OK');
        const inNamespace = xadesVersion === 'VERSION_1_4_1' ? 'v1.3.2' : xadesVersion.replace('VERSION_', 'v').replaceAll('_', '.');
        expect(evidence.toString()).toContain(`xmlns:xad="http://uri.etsi.org/01903/${inNamespace}#"`);
        expect(evidence.toString().includes('SignatureTimeStamp')).toBe('timeStamp' in more);
      }
    },
  );

  it('signs several documents one by one, in their order', async () => {
    const documents = [1, 2, 3].map((number) => ({ ...contentDocument(`<a>${number}</a>`, `id ${number}`), fileName: `${number}.xml` }));
    const answer = succeeds(await sign(parametersOf(form), documents));
    for (const index of documents.keys()) {
      expect(documentOf(answer, index)).toMatchObject({
        ID: `id ${index + 1}`,
        fileName: `${index + 1}.xml.xml`,
        mimeType: 'application/xml',
      });
      expect(evidenceOf(answer, index).toString()).toContain(`<a>${index + 1}`);
      expect(verdict(evidenceOf(answer, index))).toBe('OK');
    }
    expect(answer.body['evidenceObject']).toEqual(answer.body['evidenceObjects']?.['0']);
  });

  it('takes its document from every source, and delivers it everywhere', async () => {
    const filePath = join(description.readDirectory ?? '', `${randomUUID()}.xml`);
    const outputDirectory = join(description.writeDirectory ?? '', randomUUID());
    writeFileSync(filePath, invoice);
    mkdirSync(outputDirectory);
    const documents = [
      { ID: 'text', plainData: { plainValue: invoice } },
      contentDocument(invoice, 'base64'),
      { ID: 'path', filePathData: { filePath } },
      { ID: 'store', FTMData: { fileID: idOf(await upload('other', invoice)), fileSize: Buffer.byteLength(invoice) } },
    ];
    const delivered: Record<string, (answer: ApiAnswer, index: number) => Promise<Buffer> | Buffer> = {
      BASE_64: evidenceOf,
      PLAIN: (answer, index) => Buffer.from(textOf(documentOf(answer, index)?.['plainData']?.['plainValue'])),
      FILE_PATH: (answer, index) => readFileSync(textOf(documentOf(answer, index)?.['filePathData']?.['filePath'])),
      FTM: async (answer, index) => {
        const stored = await file('other', 'GET', textOf(documentOf(answer, index)?.['FTMData']?.['fileID']));
        expect(stored.headers['content-type']).toBe('application/xml');
        return Buffer.from(stored.text);
      },
    };
    for (const [outputMode, read] of Object.entries(delivered)) {
      const evidenceOutput = { outputMode, ...(outputMode === 'FILE_PATH' ? { outputDirectory } : {}) };
      const answer = succeeds(await sign(parametersOf(form), documents, { optionalInputs: { evidenceOutput } }));
      for (const index of documents.keys()) expect(verdict(await read(answer, index)), outputMode).toBe('OK');
    }
    expect(readdirSync(outputDirectory).toSorted()).toEqual(['base64.xml', 'path.xml', 'store.xml', 'text.xml']);
  });

  it('is for documents that the key is bound to, by the digest of their bytes', async () => {
    const digestValue = createHash('sha256').update(invoice).digest('base64');
    const created = await call('other', 'pki/createCertificate', {
      ...certificateRequest(),
      signerData: { digest: [{ id: 'd', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue }] },
    });
    const keyReference = created.body['keyReference'] as object;
    expect(verdict(evidenceOf(succeeds(await sign(parametersOf(form), [contentDocument(invoice)], { keyReference }))))).toBe('OK');
    // The same canonical form in other bytes.
    const other = contentDocument(invoice.replace('b="2" a="1"', "a='1' b='2'"));
    expect(codeOf(await sign(parametersOf(form), [other], { keyReference }))).toBe('2/205');
  });
});

describe('an enveloped signature', () => {
  it.each([
    ['LT', {}],
    ['LTA', { archiveTimeStamp: true }],
  ])('reaches level %s', async (_level, longTermValidation) => {
    for (const form of ['EXXP_7', 'EGXXP_7'] as const) {
      const answer = succeeds(await sign(parametersOf(form, {}, { timeStamp: {}, longTermValidation }), [contentDocument(invoice)]));
      const text = evidenceOf(answer).toString();
      expect(verdict(evidenceOf(answer))).toBe('OK');
      const counts = ['<xad:SignatureTimeStamp>', '<xad:CertificateValues>', '<xad:RevocationValues>', ':ArchiveTimeStamp '].map(
        (name) => text.split(name).length - 1,
      );
      expect(counts).toEqual([1, 1, 1, 'archiveTimeStamp' in longTermValidation ? 1 : 0]);
    }
  });

  it('covers one element alone, under every name of its Id', async () => {
    for (const [attribute, element] of [
      ['Id', 'part'],
      ['ID', 'part'],
      ['id', 'part'],
      ['xml:id', 'part'],
    ] as const) {
      const document = `<a><part ${attribute}="x.1">one</part><other>two</other></a>`;
      const own = { signedNode: 'x.1' };
      const evidence = evidenceOf(succeeds(await sign(parametersOf('EXXP_7', own), [contentDocument(document)])));
      const options = attribute === 'xml:id' ? {} : { idElements: [element], idAttribute: attribute };
      expect(verdict(evidence, options), attribute).toBe('OK');
      expect(verdict(Buffer.from(evidence.toString().replace('two', 'three')), options)).toBe('OK');
      expect(verdict(Buffer.from(evidence.toString().replace('one', 'three')), options)).not.toBe('OK');
    }
  });

  it('with a filter covers what the filter keeps', async () => {
    const document = `<a xmlns="urn:x"><part>one</part><part>two<!-- c --><deep>three</deep></part><other at="four">five</other></a>`;
    const own = { xpathTransformation: 'ancestor-or-self::p:part', xpathTransformationNS: { prefix: 'p', namespaceURI: 'urn:x' } };
    const evidence = evidenceOf(succeeds(await sign(parametersOf('EXXP_7', own), [contentDocument(document)]))).toString();
    expect(verdict(Buffer.from(evidence))).toBe('OK');
    for (const kept of ['one', 'two', 'three']) expect(verdict(Buffer.from(evidence.replace(`${kept}<`, 'x<'))), kept).not.toBe('OK');
    for (const left of ['four"', 'five<']) expect(verdict(Buffer.from(evidence.replace(left, `x${left.at(-1)}`))), left).toBe('OK');
  });

  it('stands beside others: none breaks another', async () => {
    let document: Buffer = Buffer.from(invoice);
    for (const [index, client] of clients.entries()) {
      const own = index === 1 ? { signaturePosition: 'FIRST_CHILD' } : {};
      document = evidenceOf(succeeds(await sign(parametersOf('envelopedXAdESSignature', own), [contentDocument(document)], { client })));
    }
    for (const signature of [1, 2, 3]) expect(verdict(document, { signature })).toBe('OK');
  });

  it('has the Ids, the prefix and the element that were chosen', async () => {
    const ids = { signatureId: 'signature.é', signedPropertiesId: '_p', signatureValueId: 'v-1' };
    const evidence = evidenceOf(
      succeeds(await sign(parametersOf('envelopedXAdESSignature', { ...ids, xadesNsPrefix: 'é' }), [contentDocument(invoice)])),
    ).toString();
    expect(verdict(Buffer.from(evidence))).toBe('OK');
    for (const part of ['<ds:SignatureValue Id="v-1">', ':SignedProperties Id="_p">']) expect(evidence).toContain(part);
  });

  it('under another element verifies once that is ds:Signature again, and xmlsec1 finds none before', async () => {
    for (const own of [{ signatureElementName: 'Proof' }, { signatureElementName: 'Proof', signatureElementNS: 'urn:example:proof' }]) {
      const evidence = evidenceOf(succeeds(await sign(parametersOf('EXXP_7', own), [contentDocument(invoice)]))).toString();
      expect(evidence).toMatch(/<(?:sig:)?Proof [^>]*>/);
      expect(verdict(Buffer.from(evidence))).not.toBe('OK');
    }
  });

  it('goes deep into a document, and wraps a deep one', async () => {
    const depth = 200;
    const deep = `${'<a>'.repeat(depth - 1)}<b/>${'</a>'.repeat(depth - 1)}`;
    for (const [form, own, more] of [
      ['EXXP_7', {}, {}],
      ['EXXP_7', { xpathSignaturePosition: '//b' }, {}],
      ['EXXP_7', { xpathSignaturePosition: '//b' }, { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } }],
      ['EGXXP_7', {}, {}],
      ['EGXXP_7', {}, { timeStamp: {}, longTermValidation: {} }],
    ] as const) {
      const answer = await sign(parametersOf(form, own, more), [contentDocument(deep)]);
      expect([form, own, codeOf(answer), messageOf(answer)]).toEqual([form, own, '0/0', 'success']);
    }
  });

  it('of a document that is not UTF-8 is not delivered as text', async () => {
    const latin = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>', 'latin1');
    const optionalInputs = { evidenceOutput: { outputMode: 'PLAIN' } };
    const answer = await sign(parametersOf('EXXP_7'), [contentDocument(latin)], { optionalInputs });
    expect([codeOf(answer), messageOf(answer)]).toEqual([
      '1/104',
      '/optionalInputs/evidenceOutput/outputMode: the evidence is not UTF-8 text; supported: BASE_64, FTM and FILE_PATH',
    ]);
    // What an enveloping signature contains is UTF-8 always.
    succeeds(await sign(parametersOf('EGXXP_7'), [contentDocument(latin)], { optionalInputs }));
  });
});

describe('an enveloping signature', () => {
  it.each<[string, Buffer, string]>([
    ['text', Buffer.from('Lu et approuvé'), 'Lu et approuvé'],
    ['bytes', Buffer.from([0, 1, 2, 0xff]), '\u0000'],
    ['nothing', Buffer.of(), ''],
    ['XML with a DOCTYPE', Buffer.from('<!DOCTYPE a><a/>'), '<!DOCTYPE a><a/>'],
    ['XML that is not well formed', Buffer.from('<a>'), '<a>'],
  ])('contains %s as base64', async (_what, content) => {
    const evidence = evidenceOf(succeeds(await sign(parametersOf('EGXXP_7'), [contentDocument(content)])));
    const [, base64 = 'none'] =
      /<ds:Object Encoding="http:\/\/www.w3.org\/2000\/09\/xmldsig#base64" [^>]*>([^<]*)</.exec(evidence.toString()) ?? [];
    expect(Buffer.from(base64, 'base64').equals(content)).toBe(true);
    expect(verdict(evidence)).toBe('OK');
  });

  it('contains XML in every encoding as UTF-8 without its declaration', async () => {
    for (const content of [
      Buffer.from('\u{feff}<?xml version="1.0" encoding="UTF-8"?>\r\n<a>é</a>'),
      Buffer.from('\u{feff}<?xml version="1.0" encoding="UTF-16"?><a>é</a>', 'utf16le'),
      Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>', 'latin1'),
    ]) {
      const evidence = evidenceOf(succeeds(await sign(parametersOf('EGXXP_7'), [contentDocument(content)])));
      expect(evidence.toString()).toContain('<a>é</a></ds:Object>');
      expect(verdict(evidence)).toBe('OK');
    }
  });
});

it('a document at the limit of depth harms no later one', async () => {
  const open = '<p:a xmlns:p="urn:p" p:b="1" xml:lang="fr">';
  const deep = contentDocument(`${open.repeat(200)}${'</p:a>'.repeat(200)}`);
  const later = contentDocument('<a b="&lt;&#13;é">&lt;&amp;&gt;</a>');
  for (const signedContentsC14NAlgURI of ['REC_XML_C_14_N_20010315', 'XML_C_14_N_11', 'XML_EXC_C_14_N'])
    for (const form of forms) {
      const answer = await sign(parametersOf(form, { signedContentsC14NAlgURI }), [deep, { ...later, ID: 'later' }]);
      expect(verdict(evidenceOf(succeeds(answer), 1))).toBe('OK');
    }
});
