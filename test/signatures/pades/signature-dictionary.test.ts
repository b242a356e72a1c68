import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../src/asn1/byte-source.ts';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import { readSignedData, type ReadSignedData } from '../../../src/cms/read-signed-data.ts';
import { attributeValues, readSignerInfo, type ReadSignerInfo } from '../../../src/cms/read-signer-info.ts';
import { isArray, isInteger, isName, PdfString, type PdfDictionary, type PdfObject } from '../../../src/pdf/objects.ts';
import { PdfFile } from '../../../src/pdf/pdf-file.ts';
import { textOf } from '../../../src/pdf/text-string.ts';
import { encodedSignature, signatureFields } from '../../../src/signatures/pades/signed-fields.ts';
import { madePdf, usualObjects } from '../../pdf/made-pdf.ts';
import { opensslVerifies, softwareSigner, theOne } from '../software-signer.ts';
import { signPdf, usualSigner, type SigningOptions } from './sign-pdf.ts';

const document = madePdf(usualObjects());

interface Signed {
  readonly pdf: Buffer;
  readonly file: PdfFile;
  readonly signature: PdfDictionary;
  readonly cms: Uint8Array;
  readonly data: ReadSignedData;
  readonly info: ReadSignerInfo;
}

function signed(xp7: Readonly<Record<string, unknown>> = {}, options: SigningOptions = {}): Signed {
  const pdf = signPdf(document, xp7, options);
  const file = new PdfFile(bytesInMemory(pdf));
  const signature = theOne(signatureFields(file).flatMap((field) => field.signature ?? []));
  const cms = encodedSignature(signature);
  const data = readSignedData(bytesInMemory(cms));
  return { pdf, file, signature, cms, data, info: readSignerInfo(theOne(data.signerInfos)) };
}

const text = (object: PdfObject): string | undefined => textOf(object);
const basic = { XP7Providers: { PXP7Parameters: { signatureFormat: 'BASIC' } } };
const policy = {
  URL: 'https://policy.example/v1.pdf',
  OID: '1.2.250.1.1.1.1',
  digest: { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update('policy').digest('hex') },
};

describe('the signature dictionary', () => {
  it.each([
    ['ENHANCED', {}, 'ETSI.CAdES.detached'],
    ['BASIC', basic, 'adbe.pkcs7.detached'],
  ])('of %s has its filters, and no Cert', (_, xp7, subFilter) => {
    const { signature } = signed(xp7);
    expect(signature.keys().toSorted()).toEqual(['ByteRange', 'Contents', 'Filter', 'M', 'SubFilter', 'Type']);
    expect([isName(signature.get('Type'), 'Sig'), isName(signature.get('Filter'), 'Adobe.PPKLite')]).toEqual([true, true]);
    expect(isName(signature.get('SubFilter'), subFilter)).toBe(true);
  });

  it('has the time in UTC: of the service, or of the request', () => {
    const now = new Date(Date.now() + 60_000);
    const stamp = (date: Date): string => `D:${date.toISOString().slice(0, 19).replaceAll(/[-T:]/g, '')}Z`;
    expect(text(signed({}, { now }).signature.get('M'))).toBe(stamp(now));
    const time = now.getTime() + 3_600_000;
    const asked = signed({ signedProperties: { signingTime: { source: 'CLIENT', time } } }, { now });
    expect(text(asked.signature.get('M'))).toBe(stamp(new Date(time)));
  });

  it.each([
    [{ city: 'Orléans', stateOrProvince: 'Centre', postalCode: '45000', countryCode: 'FR' }, '45000 Orléans, Centre, FR'],
    [{ city: 'Łódź' }, 'Łódź, FR'],
    [{ countryCode: 'BE' }, 'BE'],
    [{ postalCode: '1000', countryCode: 'BE' }, '1000, BE'],
  ])('has the place %j in one line', (signatureProductionPlace, line) => {
    expect(text(signed({ signedProperties: { signatureProductionPlace } }).signature.get('Location'))).toBe(line);
  });

  it.each<[Readonly<Record<string, unknown>>, string | undefined, boolean, boolean]>([
    [{ commitmentText: 'Lu et approuvé' }, 'Lu et approuvé', false, false],
    [{ commitmentTypeId: 'DELIVERY' }, undefined, true, false],
    [{ commitmentTypeId: 'SENDER', commitmentText: 'not used' }, undefined, true, false],
    [{ signatureType: 'APPELLATION', commitmentText: 'Lu' }, undefined, true, false],
    [{ signaturePolicy: 'IMPLICIT', commitmentText: 'Lu' }, undefined, true, true],
    [{ signaturePolicy: 'EXPLICIT', sigPolicyQualifier: policy }, undefined, false, true],
  ])('of %j has a reason only without a commitment and a policy among the signed attributes', (properties, reason, commits, hasPolicy) => {
    const { signature, info } = signed({ signedProperties: properties });
    const attributes = info.signedAttributes ?? new Uint8Array();
    const reasonOf = signature.get('Reason');
    expect(reasonOf === null ? undefined : text(reasonOf)).toBe(reason);
    expect(attributeValues(attributes, oids.commitmentType).length).toBe(commits ? 1 : 0);
    expect(attributeValues(attributes, oids.signaturePolicy).length).toBe(hasPolicy ? 1 : 0);
  });

  it('covers all of the file but its own contents', () => {
    const { pdf, file, signature } = signed();
    const range = file.array(signature.get('ByteRange'), 'the byte range').filter((one) => isInteger(one));
    const [start = -1, length = -1, start2 = -1, length2 = -1] = range;
    expect([range.length, start, start2 + length2]).toEqual([4, 0, pdf.length]);
    const contents = signature.get('Contents');
    if (!(contents instanceof PdfString)) throw new Error('no contents');
    expect(pdf.subarray(length, start2).toString('latin1')).toBe(`<${Buffer.from(contents.raw).toString('hex')}>`);
  });

  it('has the levels of a certification and its locks as references', () => {
    const { file, signature } = signed({ XP7Providers: { PXP7Parameters: { docMDPLevel: 'LEVEL_3', fieldsLock: 'ALL' } } });
    const references = file.array(signature.get('Reference'), 'the references').map((one) => file.dictionary(one, 'a reference'));
    const parametersOf = (one: PdfDictionary): PdfDictionary => file.dictionary(one.get('TransformParams'), 'parameters');
    expect(references.map((one) => ['DocMDP', 'FieldMDP'].find((name) => isName(one.get('TransformMethod'), name)))).toEqual([
      'DocMDP',
      'FieldMDP',
    ]);
    expect(references.map((one) => isName(parametersOf(one).get('V'), '1.2'))).toEqual([true, true]);
    expect(references.map((one) => parametersOf(one).get('P'))).toEqual([3, null]);
    expect(references.map((one) => isName(parametersOf(one).get('Action'), 'All'))).toEqual([false, true]);
    const permissions = file.dictionary(file.catalog.get('Perms'), 'the permissions');
    expect(file.get(permissions, 'DocMDP')).toBe(signature);
    const field = theOne(signatureFields(file).filter((one) => one.signature !== undefined));
    expect(isName(file.dictionary(field.dictionary.get('Lock'), 'the lock').get('Action'), 'All')).toBe(true);
  });
});

describe('the CMS signature in a PDF', () => {
  it.each([
    ['ENHANCED', {}],
    ['BASIC', basic],
  ])('of %s is detached, by one signer, and binds the certificate, without a signing time', (_, xp7) => {
    const { pdf, file, signature, cms, data, info } = signed(xp7);
    const attributes = info.signedAttributes ?? new Uint8Array();
    expect([data.content, data.contentType]).toEqual([undefined, oids.data]);
    expect(attributeValues(attributes, oids.signingCertificateV2)).toHaveLength(1);
    expect(attributeValues(attributes, oids.signingTime)).toHaveLength(0);
    expect(attributeValues(attributes, oids.contentType)).toHaveLength(1);
    const [, length = 0, start2 = 0] = file.array(signature.get('ByteRange'), 'the byte range').filter((one) => isInteger(one));
    const covered = Buffer.concat([pdf.subarray(0, length), pdf.subarray(start2)]);
    expect(opensslVerifies(cms, [usualSigner()], covered)).not.toBe('');
  });

  it('has the chain of the signer without its root', () => {
    const { data } = signed();
    expect(data.certificates.map((one) => Buffer.from(one))).toEqual([Buffer.from(usualSigner().certificate.der)]);
  });

  it.each(['SHA_256', 'SHA_384', 'SHA_512'])('is made with %s, and with RSA in both versions', (digestAlgorithm) => {
    const signer = softwareSigner('RSA', 'rsa');
    for (const RSAVersion of ['PKCS_1_1_5', 'PKCS_1_2_1']) {
      const { cms, pdf, file, signature } = signed({ digestAlgorithm, RSAVersion }, { signer });
      const range = file.get(signature, 'ByteRange');
      const [, length = 0, start2 = 0] = isArray(range) ? range.filter((one) => isInteger(one)) : [];
      expect(opensslVerifies(cms, [signer], Buffer.concat([pdf.subarray(0, length), pdf.subarray(start2)]))).not.toBe('');
    }
  });
});
