import { describe, expect, it } from 'vitest';
import * as der from '../../../src/asn1/der.ts';
import { children, readAll } from '../../../src/asn1/reader.ts';
import type { Certificate } from '../../../src/x509/certificate.ts';
import type { Prepared } from '../../../src/signatures/format.ts';
import { padesEntry } from '../../../src/signatures/pades/pades-entry.ts';
import type { PadesState } from '../../../src/signatures/pades/pades-state.ts';
import { XP7Signature } from '../../../src/signatures/request/xp7-signature.ts';
import { madePdf, revised, usualObjects, type MadeOptions } from '../../pdf/made-pdf.ts';
import { chainOf, documentOf, softwareSigner, theOne, valueOf } from '../software-signer.ts';
import { requestRules } from '../../support/request-rules.ts';

const signer = softwareSigner('Golden signer');
const commonName = (name: string): Uint8Array => der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), der.utf8String(name))));

/** No real one: what depends on it is the same every time. */
const certificate: Certificate = {
  ...signer.certificate,
  der: Buffer.from('the certificate'),
  serialNumber: Uint8Array.of(5),
  issuer: commonName('golden'),
  notBefore: new Date('2025-01-01T00:00:00Z'),
  notAfter: new Date('2027-01-01T00:00:00Z'),
};
const chain = { ...chainOf(signer), certificate, issuers: [] };
const now = new Date('2026-01-02T03:04:05.678Z');

function prepared(pdf: Uint8Array, xp7: Readonly<Record<string, unknown>>, mustBeQuick = false): Prepared<PadesState> {
  const rules = requestRules;
  const asked = padesEntry.asked(XP7Signature.parse({ XP7Format: 'PXP_7', ...xp7 }), rules);
  const plan = padesEntry.plan(asked, [], { key: { type: 'P-256' }, chain });
  return theOne(padesEntry.format.prepare([documentOf(pdf)], plan.parameters, chain, { now, mustBeQuick }));
}

/** The revision in ASCII, with the room of the signature as its size. */
function shown({ contents }: Prepared<PadesState>): string {
  const [, revision] = contents;
  if (!(revision instanceof Uint8Array)) throw new Error('a revision is in memory');
  return Buffer.from(revision)
    .toString('latin1')
    .replace(/<((?:00)+)>/, (_, room: string) => `<room of ${room.length / 2} bytes>`)
    .replaceAll('\\', '\\\\')
    .replace(/[^\n -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

const table = madePdf(usualObjects(), { version: '1.4' });
const of = (options: MadeOptions): Buffer => madePdf(usualObjects(), options);
const parameters = (PXP7Parameters: object): Readonly<Record<string, unknown>> => ({ XP7Providers: { PXP7Parameters } });
const words = {
  commitmentText: 'Lu et approuvé',
  signatureProductionPlace: { city: 'Orléans', stateOrProvince: 'Centre', postalCode: '45000', countryCode: 'FR' },
};
const withLock = revised(table, {
  12: '<</Type /Annot /Subtype /Widget /Parent 11 0 R /T <FEFF0031> /Rect [72 500 200 560] /P 3 0 R /F 4 /Lock <</Type /SigFieldLock /Action /Include /Fields [(name)]>>>>',
});

/** A document and what is asked for, by the name of the golden file. */
const cases: Readonly<Record<string, readonly [Uint8Array, Readonly<Record<string, unknown>>]>> = {
  usual: [table, {}],
  basic: [table, parameters({ signatureFormat: 'BASIC' })],
  'level-t': [table, { timeStamp: {} }],
  'reason-and-place': [table, { signedProperties: words }],
  'client-time': [table, { signedProperties: { signingTime: { source: 'CLIENT', time: now.getTime() - 3000 } } }],
  'certified-1': [table, parameters({ docMDPLevel: 'LEVEL_1' })],
  'certified-2': [table, parameters({ docMDPLevel: 'LEVEL_2' })],
  'certified-3': [table, parameters({ docMDPLevel: 'LEVEL_3', fieldsLock: 'ALL' })],
  'document-lock': [table, parameters({ documentLock: true })],
  'existing-field': [
    table,
    parameters({ visibleSignature: { signatureField: 'seals.1', renderNameVisible: false, renderDateVisible: false } }),
  ],
  'existing-field-with-lock': [
    withLock,
    parameters({ visibleSignature: { signatureField: 'seals.1', renderNameVisible: false, renderDateVisible: false } }),
  ],
  'cross-reference-stream': [of({ shape: 'STREAM' }), {}],
  'object-streams': [of({ shape: 'OBJECT_STREAMS' }), {}],
  hybrid: [of({ shape: 'HYBRID', outside: [1, 2, 3, 9] }), {}],
  'pdf-2.0': [of({ shape: 'STREAM', version: '2.0', trailer: '/ID [<01> <02>]' }), {}],
  'no-form': [madePdf({ ...usualObjects(), 1: '<</Type /Catalog /Pages 2 0 R>>' }), {}],
};

/** A signed document in which a page names no parent, so that it is looked for in the whole page tree. */
function withPages(count: number): Buffer {
  const numbers = Array.from({ length: count }, (_, index) => 10 + index);
  return madePdf({
    1: '<</Type /Catalog /Pages 2 0 R /AcroForm <</Fields [3 0 R]>>>>',
    2: `<</Type /Pages /Count ${count} /Kids [${numbers.map((number) => `${number} 0 R`).join(' ')}]>>`,
    3: '<</FT /Sig /T (Earlier) /V <</Type /Sig>>>>',
    ...Object.fromEntries(numbers.map((number) => [number, '<</Type /Page>>'])),
  });
}

describe('a document that was signed before', () => {
  it('is prepared on the event loop only if its comparison is quick, too', () => {
    expect(prepared(withPages(2), {}, true).state.isSigned).toBe(true);
    expect(() => prepared(withPages(1500), {}, true)).toThrow(expect.objectContaining({ code: 'NOT_QUICK' }));
    expect(prepared(withPages(1500), {}).state.isSigned).toBe(true);
  });
});

describe('the revision that is prepared', () => {
  it.each(Object.entries(cases))('is that of the golden file: %s', async (name, [pdf, xp7]) => {
    await expect(shown(prepared(pdf, xp7))).toMatchFileSnapshot(`golden/${name}.txt`);
  });

  it('has the byte range that its state has, and signs the digest of all but its room', () => {
    const { state, contents, dataToSign, covers } = prepared(table, {});
    const [content, revision] = contents;
    const whole = Buffer.concat([content, revision].map((piece) => (piece instanceof Uint8Array ? piece : Buffer.alloc(0))));
    const [start, length, start2, length2] = state.byteRange;
    expect(content).toEqual(table);
    expect([start, start2 + length2]).toEqual([0, whole.length]);
    expect(whole.subarray(length, start2).toString('latin1')).toMatch(/^<(?:00)+>$/);
    expect(whole.toString('latin1')).toContain(`/ByteRange [0 ${length}`);
    expect(children(readAll(dataToSign ?? new Uint8Array())).map(({ raw }) => Buffer.from(raw).toString('base64'))).toEqual(
      state.signedAttributes.toSorted((one, other) => Buffer.from(one, 'base64').compare(Buffer.from(other, 'base64'))),
    );
    expect(covers).toMatchObject([{ index: 0, digest: { hash: 'sha256' } }]);
  });

  it('is the same for the same document, moment and signer', () => {
    expect(prepared(table, {})).toEqual(prepared(table, {}));
  });
});

it('a document that cannot be read once it has its revision is refused, since a damaged file is to blame', () => {
  const one = prepared(table, {});
  const [, revision = new Uint8Array()] = one.contents;
  const damaged = Buffer.from(table.toString('latin1').replace('\n10 0 obj', '\n10 0 obx'), 'latin1');
  const value = valueOf(signer, one, signer.algorithm);
  expect(() =>
    padesEntry.format.complete({ ...one, contents: [damaged, revision] }, value, { algorithm: signer.algorithm, chain }),
  ).toThrow(expect.objectContaining({ code: 'DOCUMENT_INVALID', at: '/inputDocuments/0' }) as Error);
});
