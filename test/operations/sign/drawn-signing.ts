import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { smallPdf } from '../../support/small-pdf.ts';
import { madeSourceOf, madeZone } from '../../support/two-d-doc-sources.ts';
import { boundDocument } from './drawn-keys.ts';

/** The directory of the service in a drawn request. */
export const directoryMark = '<directory>';

const base64 = (content: string | Uint8Array): string => Buffer.from(content).toString('base64');
const zone = madeZone(madeSourceOf('01'));
const contents = {
  text: boundDocument.text,
  empty: '',
  xml: '<a xmlns="urn:a" b="1"><c Id="x">é</c><!-- d --></a>',
  brokenXml: '<a><b></a>',
  pdf: smallPdf(),
  cutPdf: smallPdf().subarray(0, 300),
  zone: Buffer.from(zone, 'latin1'),
  // Beyond what is prepared, completed and encoded on the event loop.
  big: 'Long content. '.repeat(25_000),
} as const;
type ContentName = keyof typeof contents;

/** Optional members, each there one time out of `1 + often`. */
function some(members: Readonly<Record<string, fc.Arbitrary<unknown>>>, often = 4): fc.Arbitrary<Record<string, unknown>> {
  const rare = Object.entries(members).map(([name, arbitrary]) => [
    name,
    fc.oneof({ weight: often, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary }),
  ]);
  return fc
    .record(Object.fromEntries(rare) as Record<string, fc.Arbitrary<unknown>>)
    .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
}

/** Good values, and one time out of fifteen a bad one. */
const mostly = <T>(good: readonly T[], bad: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 14, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: fc.constantFrom(...bad) });

const oids = {
  sha1: '1.3.14.3.2.26',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
};
const digest = fc
  .record({
    hash: fc.constantFrom('sha256' as const, 'sha256' as const, 'sha384' as const, 'sha512' as const),
    text: fc.constantFrom(contents.text, 'another'),
  })
  .map(({ hash, text }) => ({ digestAlgOID: oids[hash], digestValue: createHash(hash).update(text).digest('base64') }));
const badDigest = fc.constantFrom(
  { digestAlgOID: oids.sha256, digestValue: base64('short') },
  { digestAlgOID: oids.sha1, digestValue: base64(Buffer.alloc(20)) },
  { digestAlgOID: '1.2.3', digestValue: base64(Buffer.alloc(32)) },
  { digestAlgOID: 'sha256', digestValue: base64(Buffer.alloc(32)) },
);

/** What a document holds: usually what the format takes. */
function source(fitting: readonly ContentName[], takesDigests: boolean): fc.Arbitrary<object> {
  const held = (name: ContentName): object => ({ base64Data: { base64Value: base64(contents[name]) } });
  const fits = fc.constantFrom(...fitting);
  return fc.oneof(
    { weight: takesDigests ? 14 : 40, arbitrary: fits.map(held) },
    { weight: takesDigests ? 10 : 1, arbitrary: digest.map((one) => ({ digest: one })) },
    { weight: 6, arbitrary: fits.map((name) => ({ plainData: { plainValue: contents[name].toString() } })) },
    { weight: 1, arbitrary: fc.constantFrom(...(Object.keys(contents) as ContentName[])).map(held) },
    {
      weight: 2,
      arbitrary: fc.oneof(
        badDigest.map((one) => ({ digest: one })),
        fc.constantFrom<object>(
          {},
          { base64Data: { base64Value: '***' } },
          { base64Data: { base64Value: 'QQ' } },
          { plainData: { plainValue: '\ud800' } },
          { plainData: { plainValue: 'both' }, base64Data: { base64Value: '' } },
          { filePathData: { filePath: `${directoryMark}/read/document.txt` } },
          { filePathData: { filePath: `${directoryMark}/read/absent.txt` } },
          { filePathData: { filePath: '/etc/passwd' } },
          { FTMData: { fileSize: 4, fileID: 'unknown' } },
        ),
      ),
    },
  );
}

function documents(fitting: readonly ContentName[], takesDigests: boolean): fc.Arbitrary<object[]> {
  const names = {
    fileName: fc.constantFrom('contract.txt', 'é.pdf', 'a/b', ''),
    mimeType: fc.constantFrom('text/plain', 'no type'),
    password: fc.constant('x'),
  };
  const usual = some({ fileName: fc.constantFrom('contract.txt', 'é.pdf'), mimeType: fc.constant('text/plain') }, 1);
  const more = fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: some(names) });
  const document = fc.record({ more, source: source(fitting, takesDigests) });
  const ids = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.constantFrom([boundDocument.id], [boundDocument.id], [boundDocument.id, 'b'], ['b', 'a', boundDocument.id]),
    },
    { weight: 1, arbitrary: fc.constantFrom(['a', 'a'], [''], []) },
  );
  return fc
    .record({ ids, drawn: fc.array(document, { minLength: 3, maxLength: 3 }) })
    .map(({ ids: all, drawn }) => all.map((ID, index) => ({ ID, ...drawn[index]?.more, ...drawn[index]?.source })));
}

const properties = some({
  signatureType: fc.constantFrom('APPELLATION', 'INDEPENDENT'),
  commitmentText: fc.constant('Read and approved'),
  signaturePolicy: mostly(['NONE', 'IMPLICIT'], ['EXPLICIT']),
  commitmentTypeId: fc.constantFrom('APPROVAL', 'ORIGIN'),
  signingTime: mostly<object>(
    [{}, { source: 'NONE' }],
    [{ source: 'CLIENT' }, { source: 'CLIENT', time: 0 }, { source: 'SYSTEM', time: 1 }],
  ),
  signatureProductionPlace: mostly<object>([{ city: 'Paris', countryCode: 'FR' }], [{ countryCode: 'XX' }]),
  signerRole: fc.constant({ claimedRoles: { claimedRole: ['Notary'] } }),
});
const shared = some({
  digestAlgorithm: mostly(['SHA_256', 'SHA_384', 'SHA_512'], ['SHA_1']),
  signedProperties: properties,
});
const version = fc.constantFrom('VERSION_1_1_1', 'VERSION_1_2_2', 'VERSION_1_3_2', 'VERSION_1_4_1');
/** For keys of RSA alone, or with an authority that no chain has. */
const odd = some({ RSAVersion: fc.constantFrom('PKCS_1_1_5', 'PKCS_1_2_1'), trustedCA: fc.constant('0'.repeat(40)) }, 15);
const position = { signedNode: mostly(['x'], ['absent']), xpathSignaturePosition: mostly(['/*', '//*[@Id="x"]'], ['//*[']) };
const xp7 = (XP7Format: string, name: string, own: fc.Arbitrary<object>): fc.Arbitrary<object> =>
  fc
    .record({ own, shared, odd })
    .map((drawn) => ({ XP7Signature: { XP7Format, XP7Providers: { [name]: drawn.own }, ...drawn.shared, ...drawn.odd } }));

const rawAlgorithms = fc.constantFrom<object>(
  { signatureAlgorithmOid: '1.2.840.113549.1.1.11' },
  { signatureAlgorithmOid: '1.2.840.113549.1.1.13' },
  { signatureAlgorithmOid: '1.2.840.113549.1.1.10' },
  { signatureAlgorithmOid: '1.2.840.113549.1.1.10', signatureAlgorithmParameters: { PSSParameters: { saltLength: 20 } } },
  { signatureAlgorithmOid: '1.2.840.10045.4.3.2' },
  { signatureAlgorithmOid: '1.2.840.10045.4.3.4' },
  { signatureAlgorithmOid: '1.2.840.113549.1.1.4' },
);

/** What each format takes: its parameters, and the contents that suit it. */
export const drawnFormats = {
  rawSignature: {
    parameters: some({ rawSignatureParameters: fc.oneof(fc.constant({}), rawAlgorithms) }, 2).map((rawSignature) => ({ rawSignature })),
    contents: ['text', 'text', 'empty', 'big'],
  },
  'CAdES (CXP_7)': {
    parameters: xp7(
      'CXP_7',
      'CXP7Parameters',
      fc.boolean().map((detached) => ({ detached })),
    ),
    contents: ['text', 'text', 'text', 'empty', 'big'],
  },
  'XAdES, enveloped': {
    parameters: fc
      .record({ own: some({ xadesVersion: version, signatureId: mostly(['s'], ['1']), ...position }), shared, odd })
      .map((drawn) => ({ envelopedXAdESSignature: { envelopedXAdESParameters: drawn.own, ...drawn.shared, ...drawn.odd } })),
    contents: [...Array<'xml'>(9).fill('xml'), 'brokenXml'],
  },
  'XAdES, enveloped (EXXP_7)': {
    parameters: xp7('EXXP_7', 'EXXP7Parameters', some({ xadesVersion: version, xadesPrefix: mostly(['p'], ['ds']), ...position })),
    contents: [...Array<'xml'>(9).fill('xml'), 'brokenXml'],
  },
  'XAdES, enveloping (EGXXP_7)': {
    parameters: xp7('EGXXP_7', 'EGXXP7Parameters', some({ xadesVersion: version, xadesPrefix: mostly(['p'], ['1']) })),
    contents: ['text', 'xml', 'big'],
  },
  'XAdES, detached (DXXP_7)': {
    parameters: xp7(
      'DXXP_7',
      'DXXP7Parameters',
      some({ xadesVersion: version, signatureContainerType: fc.constantFrom('NONE', 'ZIP'), zipCompressionLevel: fc.constant(6) }, 2),
    ),
    contents: ['text', 'xml', 'big'],
  },
  'PAdES (PXP_7)': { parameters: xp7('PXP_7', 'PXP7Parameters', fc.constant({})), contents: [...Array<'pdf'>(9).fill('pdf'), 'cutPdf'] },
  code2DDoc: {
    parameters: some({
      outputMode: fc.constantFrom('SIGNED_CODE', 'XML', 'IMAGE'),
      checkDigitalIdentity: fc.boolean(),
      text: mostly(['Seal'], ['x'.repeat(100)]),
    }).map((code2DDocParameters) => ({ code2DDocSignature: { code2DDocParameters } })),
    contents: [...Array<'zone'>(9).fill('zone'), 'text'],
  },
} as const satisfies Record<string, { readonly parameters: fc.Arbitrary<object>; readonly contents: readonly ContentName[] }>;
export type DrawnFormat = keyof typeof drawnFormats;

/** Parameters and documents of a format: most suit each other. */
export function drawnSigning(format: DrawnFormat): fc.Arbitrary<{ parameters: object; inputDocuments: object[] }> {
  const { parameters, contents: fitting } = drawnFormats[format];
  return fc.record({ parameters, inputDocuments: documents(fitting, format === 'rawSignature') });
}
