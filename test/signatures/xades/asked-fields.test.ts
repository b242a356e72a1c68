import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
import { askedFormat } from '../../../src/signatures/formats.ts';
import { SignatureParameters } from '../../../src/signatures/request/parameters.ts';
import { requestRules } from '../../support/request-rules.ts';

const memberAt = '/parameters/envelopedXAdESSignature';
const providersAt = '/parameters/XP7Signature/XP7Providers';

/** Undefined if it is taken, else code and place of the refusal. */
function refusal(parameters: object): readonly [string, string | undefined] | undefined {
  try {
    askedFormat(SignatureParameters.parse(parameters), requestRules);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.at];
    throw error;
  }
}

const enveloped = (envelopedXAdESParameters: object, more: object = {}): object => ({
  envelopedXAdESSignature: { envelopedXAdESParameters, ...more },
});
const provided = (form: 'EXXP' | 'EGXXP' | 'DXXP', fields: object, more: object = {}): object => ({
  XP7Signature: { XP7Format: `${form}_7`, XP7Providers: { [`${form}7Parameters`]: fields }, ...more },
});

/** Each form with fields that all have. `prefix`: the name of the field with the prefix. */
const forms = [
  { at: `${memberAt}/envelopedXAdESParameters`, prefix: 'xadesNsPrefix', asked: enveloped },
  ...(['EXXP', 'EGXXP', 'DXXP'] as const).map((form) => ({
    at: `${providersAt}/${form}7Parameters`,
    prefix: 'xadesPrefix',
    asked: (fields: object, more: object = {}) => provided(form, fields, more),
  })),
];

describe.each(forms)('the fields in $at', ({ at, prefix, asked }) => {
  it.each(['xad', 'etsi', 'é', '_', 'dsig', 'signature', 'myxml'])('take %s as the prefix of XAdES', (name) => {
    expect(refusal(asked({ [prefix]: name }))).toBeUndefined();
  });

  it.each(['ds', 'sig', 'xml', 'xmlns', 'XML', 'xMlish', 'a:b', '1a', 'a b', ''])('refuse %j as a prefix', (name) => {
    expect(refusal(asked({ [prefix]: name }))).toEqual(['FIELD_INVALID', `${at}/${prefix}`]);
  });

  it.each(['urn:example:own', 'https://example.org/own#', 'tag:example.org,2026:a~b'])('take a root in %s', (signatureElementNS) => {
    expect(refusal(asked({ signatureElementName: 'Seal', signatureElementNS }))).toBeUndefined();
  });

  it.each([
    ['http://www.w3.org/2000/09/xmldsig#'],
    ['http://uri.etsi.org/01903/v1.1.1#'],
    ['http://uri.etsi.org/01903/v1.2.2#'],
    ['http://uri.etsi.org/01903/v1.3.2#'],
    ['http://uri.etsi.org/01903/v1.4.1#'],
    ['http://www.w3.org/XML/1998/namespace'],
    ['http://www.w3.org/2000/xmlns/'],
    ['relative'],
    ['urn:'],
    ['1a:b'],
    ['urn:a&b'],
    ['urn:a b'],
    ['urn:<a>'],
    ['urn:"a"'],
    ['urn:a\\b'],
    ['urn:a^b'],
    ['urn:a`b'],
    ['urn:{a}'],
    ['urn:é'],
  ])('refuse a root in the namespace %j', (signatureElementNS) => {
    expect(refusal(asked({ signatureElementName: 'Seal', signatureElementNS }))).toEqual(['FIELD_INVALID', `${at}/signatureElementNS`]);
  });

  it('take a root without a namespace, and refuse a namespace without a root, or a name that is none', () => {
    expect(refusal(asked({ signatureElementName: 'Seal' }))).toBeUndefined();
    expect(refusal(asked({ signatureElementNS: 'urn:a' }))).toEqual(['FIELDS_INCONSISTENT', `${at}/signatureElementNS`]);
    for (const signatureElementName of ['a:Seal', '1', '', 'a b'])
      expect(refusal(asked({ signatureElementName }))).toEqual(['FIELD_INVALID', `${at}/signatureElementName`]);
  });

  it('take XAdES 1.1.1 only with a signing time', () => {
    const none = { signedProperties: { signingTime: { source: 'NONE' } } };
    const version = (xadesVersion: string): object => ({ xadesVersion });
    expect(refusal(asked(version('VERSION_1_1_1')))).toBeUndefined();
    expect(refusal(asked(version('VERSION_1_2_2'), none))).toBeUndefined();
    expect(refusal(asked(version('VERSION_1_1_1'), none))).toEqual([
      'FIELDS_INCONSISTENT',
      expect.stringMatching(/signedProperties\/signingTime\/source$/),
    ]);
  });

  it.each([
    [{ commitmentText: 'TEXT' }, 'commitmentText'],
    [{ signatureProductionPlace: { city: 'TEXT' } }, 'signatureProductionPlace/city'],
    [{ signatureProductionPlace: { stateOrProvince: 'TEXT' } }, 'signatureProductionPlace/stateOrProvince'],
    [{ signatureProductionPlace: { postalCode: 'TEXT' } }, 'signatureProductionPlace/postalCode'],
    [{ signerRole: { claimedRoles: { claimedRole: ['Director', 'TEXT'] } } }, 'signerRole/claimedRoles/claimedRole/1'],
  ])('refuse properties that XML cannot have, or that are empty: %j', (properties, place) => {
    const withText = (text: string): object => ({
      signedProperties: JSON.parse(JSON.stringify(properties).replace('"TEXT"', JSON.stringify(text))) as object,
    });
    expect(refusal(asked({}, withText('Paris & <Lyon>\n')))).toBeUndefined();
    for (const text of ['', 'a\u0001b', 'a\ufffe'])
      expect(refusal(asked({}, withText(text)))).toEqual([
        'FIELD_INVALID',
        expect.stringMatching(new RegExp(`/signedProperties/${place}$`)),
      ]);
  });
});

describe('XAdES', () => {
  const levels = {
    T: { timeStamp: {} },
    LT: { timeStamp: {}, longTermValidation: {} },
    LTA: { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } },
  };

  it.each(['VERSION_1_3_2', 'VERSION_1_4_1'])('%s has every level', (xadesVersion) => {
    for (const { asked } of forms.slice(1))
      for (const level of Object.values(levels)) expect(refusal(asked({ xadesVersion }, level))).toBeUndefined();
  });

  it.each(['VERSION_1_1_1', 'VERSION_1_2_2'])('%s has no place for validation data', (xadesVersion) => {
    for (const { asked, at } of forms.slice(1)) {
      expect(refusal(asked({ xadesVersion }, levels.T))).toBeUndefined();
      for (const level of [levels.LT, levels.LTA])
        expect(refusal(asked({ xadesVersion }, level))).toEqual(['UNSUPPORTED', `${at}/xadesVersion`]);
    }
  });
});

describe.each([forms[0], forms[1]])('the fields of a signature in its document, in $at', (form) => {
  if (form === undefined) throw new RangeError('no such form');
  const { at, asked } = form;
  const binding = (prefix: string, namespaceURI = 'urn:a'): object => ({ prefix, namespaceURI });

  it.each([
    [{ signedNode: 'one-1.2_3:é' }, undefined],
    [{ signedNode: "one')" }, ['FIELD_INVALID', 'signedNode']],
    [{ signedNode: 'a b' }, ['FIELD_INVALID', 'signedNode']],
    [{ signedNode: '' }, ['FIELD_INVALID', 'signedNode']],
    [{ signaturePosition: 'FIRST_CHILD' }, undefined],
    [{ signaturePosition: 'NEXT_SIBLING' }, ['FIELDS_INCONSISTENT', 'signaturePosition']],
    [{ signaturePosition: 'NEXT_SIBLING', xpathSignaturePosition: '//a' }, undefined],
    [{ xpathSignaturePosition: '//a[' }, ['FIELD_INVALID', 'xpathSignaturePosition']],
    [{ xpathSignaturePosition: '//a\u0001' }, ['FIELD_INVALID', 'xpathSignaturePosition']],
    [{ xpathTransformation: 'not(' }, ['FIELD_INVALID', 'xpathTransformation']],
    [{ xpathSignaturePosition: '//p:a', xpathSignaturePositionNS: [binding('p'), binding('q')] }, undefined],
    [
      { xpathSignaturePosition: '//p:a', xpathSignaturePositionNS: [binding('p'), binding('q'), binding('p')] },
      ['FIELDS_INCONSISTENT', 'xpathSignaturePositionNS/2/prefix'],
    ],
    [
      { xpathSignaturePosition: '//a', xpathSignaturePositionNS: [binding('p'), binding('xmlp')] },
      ['FIELD_INVALID', 'xpathSignaturePositionNS/1/prefix'],
    ],
    [{ xpathSignaturePosition: '//a', xpathSignaturePositionNS: [binding('p:q')] }, ['FIELD_INVALID', 'xpathSignaturePositionNS/0/prefix']],
    [{ xpathSignaturePosition: '//a', xpathSignaturePositionNS: [binding('ds')] }, ['FIELD_INVALID', 'xpathSignaturePositionNS/0/prefix']],
    [{ xpathSignaturePosition: '//a', xpathSignaturePositionNS: [binding('ds', 'http://www.w3.org/2000/09/xmldsig#')] }, undefined],
    [
      { xpathSignaturePosition: '//a', xpathSignaturePositionNS: [binding('p', 'relative')] },
      ['FIELD_INVALID', 'xpathSignaturePositionNS/0/namespaceURI'],
    ],
    [{ xpathTransformation: 'self::p:a', xpathTransformationNS: binding('p') }, undefined],
    [{ xpathTransformation: 'self::a', xpathTransformationNS: binding('ds') }, ['FIELD_INVALID', 'xpathTransformationNS/prefix']],
    [{ xpathTransformation: 'self::a', xpathTransformationNS: binding('p', 'a') }, ['FIELD_INVALID', 'xpathTransformationNS/namespaceURI']],
  ])('%j', (fields, expected) => {
    expect(refusal(asked(fields))).toEqual(expected === undefined ? undefined : [expected[0], `${at}/${expected[1]}`]);
  });
});

describe('the Ids of an enveloped signature', () => {
  const at = `${memberAt}/envelopedXAdESParameters`;
  const names = ['signatureId', 'signedPropertiesId', 'signatureValueId'];

  it.each(names)('%s is a name without a colon', (name) => {
    expect(refusal(enveloped({ [name]: 'é-1' }))).toBeUndefined();
    for (const id of ['a:b', '1a', '', 'a b']) expect(refusal(enveloped({ [name]: id }))).toEqual(['FIELD_INVALID', `${at}/${name}`]);
  });

  it('differ from each other', () => {
    expect(refusal(enveloped({ signatureId: 'a', signedPropertiesId: 'b', signatureValueId: 'c' }))).toBeUndefined();
    for (const one of names)
      for (const other of names.filter((name) => name > one))
        expect(refusal(enveloped({ [one]: 'a', [other]: 'a' }))).toEqual(['FIELDS_INCONSISTENT', `${at}/${other}`]);
  });
});

describe('the fields of a detached signature', () => {
  const at = `${providersAt}/DXXP7Parameters`;
  const zip = { signatureContainerType: 'ZIP' };
  const named = (signedDataTemplate: string): object => ({ signedDataTemplateActivated: true, signedDataTemplate });

  it.each([
    ...['signature.xml', 'META-INF/signatures.xml', 'a/é.xml'].map((name) => [{ ...zip, zipSignatureFileName: name }, undefined]),
    ...['../a.xml', '/a.xml', 'a//b', 'a?.xml', 'CON', ''].map((name) => [
      { ...zip, zipSignatureFileName: name },
      ['FIELD_INVALID', 'zipSignatureFileName'],
    ]),
    // Without a container its fields are not used.
    [{ zipSignatureFileName: '../a.xml' }, undefined],
    [{ signatureContainerType: 'NONE', zipDirectoryActivated: true }, undefined],
    [{ ...zip, zipDirectoryActivated: true, zipDirectoryName: 'data/two' }, undefined],
    [{ ...zip, zipDirectoryActivated: false, zipDirectoryName: '../data' }, undefined],
    [{ ...zip, zipDirectoryName: '../data' }, undefined],
    [{ ...zip, zipDirectoryActivated: true }, ['FIELDS_INCONSISTENT', 'zipDirectoryName']],
    ...['../data', '/data', 'a?'].map((name) => [
      { ...zip, zipDirectoryActivated: true, zipDirectoryName: name },
      ['FIELD_INVALID', 'zipDirectoryName'],
    ]),
    ...['${GUID}', '${date}/${file_name}', 'a%20b/${file_name}', "a-._~!$&'()*+,;=@", 'a/b:c'].map((template) => [
      named(template),
      undefined,
    ]),
    ...['${other}', '${GUID', '${}', 'a b', 'é', 'a?b', 'a#b', 'http://a/b', 'a:b', '/a', 'a%2', 'a%zz', '%'].map((template) => [
      named(template),
      ['FIELD_INVALID', 'signedDataTemplate'],
    ]),
    [{ signedDataTemplateActivated: true }, ['FIELDS_INCONSISTENT', 'signedDataTemplate']],
    [{ signedDataTemplate: '/a b' }, undefined],
  ] as [object, [string, string] | undefined][])('%j', (fields, expected) => {
    expect(refusal(provided('DXXP', fields))).toEqual(expected === undefined ? undefined : [expected[0], `${at}/${expected[1]}`]);
  });
});
