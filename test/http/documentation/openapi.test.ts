import { Script } from 'node:vm';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { LimitsConfig } from '../../../src/config/limits-config.ts';
import { journey } from '../../../src/http/documentation/journey.ts';
import { describeInterface, operationName } from '../../../src/http/documentation/openapi.ts';
import { documentationPage } from '../../../src/http/documentation/page.ts';
import { problemStatuses } from '../../../src/http/documentation/problems.ts';
import { referredName, type Schema } from '../../../src/http/documentation/schema.ts';
import type { Operation } from '../../../src/operations/operation.ts';
import { operations } from '../../../src/operations/table.ts';
import { resultCodes } from '../../../src/result-codes.ts';

const paths = { operations, signRoot: '/sign', doc2dRoot: '/doc2d', cscRoot: '/csc', ftmRoot: '/ftm' };
const limits = LimitsConfig.parse({});
const documentation = describeInterface(paths, limits);
const { document } = documentation;
const { schemas } = document.components;

interface Found {
  readonly at: string;
  readonly value: Schema;
}

/** All schemas inside a component, without those of its conditions, which constrain and describe nothing. */
function inside(value: unknown, at: string): readonly Found[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => inside(one, `${at}/${index}`));
  if (typeof value !== 'object' || value === null) return [];
  const members = Object.entries(value).filter(([keyword]) => !['if', 'then', 'else', 'not', 'examples'].includes(keyword));
  return members.flatMap(([keyword, member]: [string, unknown]) => [
    { at: `${at}/${keyword}`, value: member as Schema },
    ...inside(member, `${at}/${keyword}`),
  ]);
}

const all = Object.entries(schemas).flatMap(([name, schema]) => inside(schema, name));
const json = JSON.stringify(document);

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.1', async () => {
    expect(await new Validator().validate(JSON.parse(json) as Record<string, unknown>)).toEqual({ valid: true });
  });

  it('names every object and every enumeration, so that generators of clients need no names of their own', () => {
    const unnamed = all.filter(
      ({ at, value }) => !at.endsWith('/properties') && (value.properties !== undefined || value.enum !== undefined),
    );
    expect(unnamed.map(({ at }) => at)).toEqual([]);
    const inPaths = inside(document.paths, 'paths').filter(({ at, value }) => at.endsWith('/schema') && value.properties !== undefined);
    expect(inPaths).toEqual([]);
    // The only objects without a name of their own: maps from object identifiers to values.
    const maps = all.filter(({ value }) => value.type === 'object').map(({ at }) => at);
    expect(maps).toEqual(['CertificationRequestAttributes/properties/any', 'ExtensionRequest/properties/any']);
  });

  it('has no component with the name of a member: generators would rename one of them', () => {
    const members = new Set(all.filter(({ at }) => at.endsWith('/properties')).flatMap(({ value }) => Object.keys(value)));
    for (const { properties = {} } of Object.values(schemas)) for (const name of Object.keys(properties)) members.add(name);
    expect(Object.keys(schemas).filter((name) => members.has(name))).toEqual([]);
  });

  it('refers to every component, and to no other', () => {
    const referred = new Set([...json.matchAll(/"#\/components\/(\w+\/\w+)"/g)].map(([, name = '']) => name));
    const { schemas: _schemas, securitySchemes: _security, ...others } = document.components;
    const named = [
      ...Object.keys(schemas).map((name) => `schemas/${name}`),
      ...Object.entries(others).flatMap(([kind, members]) => Object.keys(members as object).map((name) => `${kind}/${name}`)),
    ];
    expect([...referred].toSorted()).toEqual(named.toSorted());
  });

  it('tells every status of the service, and its headers', () => {
    const statuses = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods as Readonly<Record<string, { readonly responses: object }>>).flatMap(({ responses }) => Object.keys(responses)),
    );
    expect([...new Set(statuses)].filter((status) => !status.startsWith('2')).toSorted()).toEqual(
      problemStatuses.map(([status]) => status),
    );
    for (const name of ['Idempotency-Key', 'Retry-After', 'X-API-Version', 'X-Request-Id', 'Allow', 'Location', 'X-File-Name'])
      expect(json).toContain(`"${name}"`);
  });

  it('names the result codes for generators', () => {
    expect(schemas['ResultMinor']?.['x-enum-varnames']).toEqual(['SUCCESS', ...Object.keys(resultCodes)]);
    expect(schemas['ResultMinor']?.enum).toEqual([0, ...Object.values(resultCodes).map(({ minor }) => minor)]);
  });

  it('has the limits in force', () => {
    const five = describeInterface(paths, { ...limits, documentsMax: 5 }).document.components.schemas;
    for (const [name, list] of [
      ['SignerData', 'digest'],
      ['SignRequest', 'inputDocuments'],
    ] as const)
      expect(five[name]?.properties?.[list]?.['maxItems']).toBe(5);
    expect(schemas['SignerData']?.properties?.['digest']?.['maxItems']).toBe(100);
  });
});

// Conditions are written without types, and require members that the object around them describes.
const ajv = new Ajv2020({ strictTypes: false, strictRequired: false, formats: { int64: true, uri: true } });
ajv.addVocabulary(['components', 'x-enum-varnames', 'x-enum-descriptions']);
ajv.addSchema({ $id: 'https://signetd.example/openapi.json', components: { schemas } });

/** Whether the document takes a request, judged by ajv. */
function takes(name: string, request: object): boolean {
  return ajv.validate({ $ref: `https://signetd.example/openapi.json#/components/schemas/${name}` }, request);
}

const requestName = (operation: Operation): string => {
  const name = operationName(operation);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}Request`;
};

describe('requests', () => {
  it.each(operations)('$path: its example is one, and with an unknown member it is none', (operation) => {
    const { example } = operation;
    expect([takes(requestName(operation), example), ajv.errorsText()]).toEqual([true, 'No errors']);
    expect(takes(requestName(operation), { ...example, nonsense: 1 })).toBe(false);
  });

  const keyReference = { reference: '0'.repeat(40) };
  const document1 = { ID: '1', base64Data: { base64Value: 'QUJD' } };
  const sign = { keyReference, parameters: { rawSignature: {} }, inputDocuments: [document1] };
  const evidence = (evidenceOutput: object): object => ({ ...sign, optionalInputs: { evidenceOutput } });
  const stamped = (timeStamp: object, more: object = {}): object => ({
    ...sign,
    parameters: { XP7Signature: { XP7Format: 'PXP_7', timeStamp, ...more } },
  });
  const subject = { subject: { country: 'FR', commonName: 'A' }, attributes: { subscriber: {} } };
  const create = (info: object): object => ({
    certificationRequestInfo: { signatureActivationProtocol: 'OTP', ...info },
    certificateFormat: 'PKCS_7',
  });
  const draw = (image2DDocSource: object): object => ({ image2DDocSource });
  const zone = { password: 'a', dataZone: 'QUJD' };
  const pre = { parameters: { XP7Signature: { XP7Format: 'PXP_7' } }, inputDocuments: [document1] };

  it.each<readonly [request: string, rule: string, taken: object, refused: readonly object[]]>([
    [
      'SignRequest',
      'a document has one content',
      sign,
      [
        { ...sign, inputDocuments: [{ ID: '1' }] },
        { ...sign, inputDocuments: [{ ...document1, plainData: { plainValue: 'a' } }] },
      ],
    ],
    [
      'SignRequest',
      'there is one kind of signature',
      sign,
      [
        { ...sign, parameters: {} },
        { ...sign, parameters: { rawSignature: {}, code2DDocSignature: {} } },
      ],
    ],
    [
      'SignRequest',
      'there is one secret',
      { ...sign, keyReference: { ...keyReference, password: 'a' } },
      [{ ...sign, keyReference: { ...keyReference, password: 'a', authToken: 'a' } }],
    ],
    [
      'SignRequest',
      'FILE_PATH has a directory',
      evidence({ outputMode: 'FILE_PATH', outputDirectory: '/a' }),
      [evidence({ outputMode: 'FILE_PATH' }), evidence({ outputDirectory: '/a' })],
    ],
    [
      'SignRequest',
      'CLIENT has addresses',
      stamped({ URLSource: 'CLIENT', clientURL: ['https://a.example'] }),
      [stamped({ URLSource: 'CLIENT' }), stamped({ URLSource: 'CLIENT', clientURL: [] }), stamped({ clientURL: ['https://a.example'] })],
    ],
    [
      'SignRequest',
      'long-term validation needs a time-stamp',
      stamped({}, { longTermValidation: {} }),
      [stamped({}, { longTermValidation: {}, timeStamp: undefined })].map((one) => JSON.parse(JSON.stringify(one)) as object),
    ],
    [
      'SignRequest',
      'CXP_7 has its parameters',
      { ...sign, parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } } },
      [{ ...sign, parameters: { XP7Signature: { XP7Format: 'CXP_7' } } }],
    ],
    [
      'CreateCertificateRequest',
      'there is one subject',
      create({ PKCS10: subject }),
      [create({}), create({ PKCS10: subject, JWT: { token: 'a' } })],
    ],
    [
      'RemotePreSignRequest',
      'a signature that names its certificate needs it',
      { ...pre, signerCertificate: 'a' },
      [pre, { ...pre, parameters: { rawSignature: {} }, certificateChain: ['a'] }],
    ],
    [
      'CreateImage2DDocRequest',
      'there is something to draw',
      draw({ dataZoneSignatureSource: zone, signedCode: 'QUJD' }),
      [draw({}), draw({ dataZoneSignatureSource: { password: 'a' } })],
    ],
    ['SendMessageRequest', 'somebody gets it', { message: 'a', subscriber: {} }, [{ message: 'a' }]],
    [
      'SendOTPRequest',
      'a signature has documents',
      { action: 'REVOKE', keyReference: keyReference.reference, signerData: { digest: [] } },
      [{ action: 'SIGN', keyReference: keyReference.reference, signerData: { digest: [] } }],
    ],
  ])('%s: %s', (name, _rule, taken, refused) => {
    expect([takes(name, taken), ajv.errorsText()]).toEqual([true, 'No errors']);
    for (const one of refused) expect([one, takes(name, one)]).toEqual([one, false]);
  });
});

describe('the page', () => {
  const page = documentationPage(documentation, limits);

  it('shows every operation once, in the order of a journey', () => {
    const shown = journey.flatMap(({ operations: names }) => (names === 'files' ? [] : names));
    expect(shown.toSorted()).toEqual(operations.map((operation) => operationName(operation)).toSorted());
    expect(shown.slice(0, 2)).toEqual(['createCertificate', 'sign']);
    const ids = [...page.matchAll(/<div class="body" id="(\w+)"/g)].map(([, id]) => id);
    expect(ids.filter((id) => shown.includes(id ?? ''))).toEqual(shown);
  });

  it('has every anchor that it links to, once', () => {
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id);
    expect(ids.length).toBe(new Set(ids).size);
    const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id = '']) => id);
    expect(links.filter((id) => !ids.includes(id))).toEqual([]);
    for (const { minor } of Object.values(resultCodes)) expect(links.filter((id) => id === `code-${minor}`).length).toBeGreaterThan(1);
  });

  it('shows the members of results and of answers', () => {
    for (const pointer of [
      '/result/resultMinor',
      '/result/minorCode',
      '/keyReference/authToken',
      '/evidenceObjects/*/document/FTMData/fileID',
      '/senderResponses/senderResponse/*/url',
    ])
      expect(page).toContain(`title="${pointer}"`);
  });

  it('has a script without errors of syntax', () => {
    const script = /<script>([^]*?)<\/script>/.exec(page)?.[1] ?? '';
    expect(() => new Script(script)).not.toThrow();
    expect(script.length).toBeGreaterThan(1000);
  });
});

it('a reference to something else than a component has no name', () => {
  expect([referredName({ $ref: '#/elsewhere' }), referredName({})]).toEqual([undefined, undefined]);
});
