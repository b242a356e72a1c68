import { createHash, randomUUID } from 'node:crypto';
import { truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  certificateRequest,
  codeOf,
  contentDocument,
  description,
  messageOf,
  newKey,
  secretOf,
  textOf,
  type ApiAnswer,
  type TestKey,
} from '../support/api.ts';

const client = 'other';
let key: TestKey;
beforeAll(async () => {
  key = await newKey(client);
});

const sign = async (parameters: object, inputDocuments: readonly object[], keyReference: object = secretOf(key)): Promise<ApiAnswer> =>
  call(client, 'signature/sign', { keyReference, parameters, inputDocuments });
const said = (answer: ApiAnswer): [string, string] => [codeOf(answer), messageOf(answer)];
const enveloped = (envelopedXAdESParameters: object = {}, more: object = {}): object => ({
  envelopedXAdESSignature: { envelopedXAdESParameters, ...more },
});
const xp7 = (XP7Format: 'EXXP_7' | 'EGXXP_7' | 'DXXP_7', parameters: object = {}, more: object = {}): object => ({
  XP7Signature: { XP7Format, XP7Providers: { [XP7Format.replace('_7', '7Parameters')]: parameters }, ...more },
});
const xml = contentDocument(
  '<a Id="one"><b xmlns="urn:b" Id="two">x</b><c ID="three"/><d id="three"/><e xmlns:f="urn:f" f:Id="five"/></a>',
);
const envelopedAt = '/parameters/envelopedXAdESSignature/envelopedXAdESParameters';
const detachedAt = '/parameters/XP7Signature/XP7Providers/DXXP7Parameters';

describe('a document with too many namespaces in scope for Canonical XML 1.0', () => {
  const declarations = Array.from({ length: 9000 }, (_, index) => ` xmlns:n${index}="urn:n:${index}"`).join('');
  const document = contentDocument(`<a${declarations}>${'<b/>'.repeat(200)}</a>`);
  const inclusive = { signedContentsC14NAlgURI: 'REC_XML_C_14_N_20010315' };

  it.each([
    ['enveloped', enveloped(inclusive)],
    ['enveloped, by its properties', enveloped({ signedPropertiesC14NAlgURI: 'XML_C_14_N_11' })],
    ['enveloping', xp7('EGXXP_7', inclusive)],
  ])('is refused at once, %s', async (_what, parameters) => {
    const refusal = '/inputDocuments/0: the document has too many namespaces in scope for Canonical XML 1.0 and 1.1';
    expect(said(await sign(parameters, [document]))).toEqual(['1/105', expect.stringContaining(refusal)]);
  });

  it.each([
    ['enveloped', enveloped()],
    ['enveloping', xp7('EGXXP_7')],
    ['detached, as bytes', xp7('DXXP_7', inclusive)],
  ])('is signed with exclusive canonicalisation, %s', async (_what, parameters) => {
    expect(said(await sign(parameters, [document]))).toEqual(['0/0', 'success']);
  });
});

describe('an enveloped signature refuses a document', () => {
  const bomb = `<!DOCTYPE a [<!ENTITY e0 "ha">${Array.from({ length: 30 }, (_, index) => `<!ENTITY e${index + 1} "&e${index};&e${index};">`).join('')}]>\n<a>&e30;</a>`;
  it.each<[string, string | Buffer, string]>([
    ['that is empty', '', 'the document is empty'],
    ['in XML 1.1', '<?xml version="1.1"?><a>x\u0085y</a>', 'the version of XML "1.1" is not supported'],
    ['that is no XML', 'Signed in Paris.\n', 'not well-formed XML: .*(line 1, column 1)'],
    ['that ends early', '<a>\n<b></a>', 'not well-formed XML: .*(line 2, column 8)'],
    ['with an undeclared prefix', '<a>\n  <p:b/></a>', 'not well-formed XML: .*p.*(line 2, column '],
    ['with an attribute twice', '<a>\n<b c="1" c="2"/></a>', 'not well-formed XML: .*c.*(line 2, column '],
    [
      'with an attribute twice in one namespace',
      '<a xmlns:p="u:x" xmlns:q="u:x"><b p:c="1" q:c="2"/></a>',
      'not well-formed XML: .*(line 1, column ',
    ],
    ['with two roots', '<a/>\n<b/>', 'not well-formed XML: .*(line 2, column 1)'],
    ['with a character that XML does not allow', '<a>\n\n \u0001</a>', 'not well-formed XML: .*(line 3, column '],
    ['with an undeclared entity', '<a>\n&amp;&nbsp;</a>', 'not well-formed XML: .*nbsp.*(line 2, column '],
    ['that is not the UTF-8 that it says', Buffer.from('<a>\né</a>', 'latin1'), 'not well-formed XML: .*(line 2, column '],
    [
      'that is not the UTF-16 that it says',
      Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from('<a/>', 'utf16le'), Buffer.of(0, 0xd8)]),
      'the document is not valid UTF-16LE',
    ],
    [
      'in another encoding',
      '<?xml version="1.0" encoding="EBCDIC-FR"?><a/>',
      'the encoding EBCDIC-FR is not supported; supported: UTF-8, UTF-16, ISO-8859-1, ISO-8859-15 and windows-1252 (line 1, column 1)',
    ],
    [
      'with the byte order mark of another encoding',
      '\u{feff}<?xml version="1.0" encoding="ISO-8859-1"?><a/>',
      'the first bytes are those of UTF-8, but the XML declaration says ISO-8859-1 (line 1, column 1)',
    ],
    [
      'in UTF-16 that says another encoding',
      Buffer.from('\u{feff}<?xml version="1.0" encoding="ISO-8859-1"?><a/>', 'utf16le'),
      'the first bytes are those of UTF-16LE, but the XML declaration says ISO-8859-1 (line 1, column 1)',
    ],
    [
      'that says UTF-16, and is not',
      '<?xml version="1.0" encoding="UTF-16"?><a/>',
      'the first bytes are those of an encoding with one byte for an ASCII character, but the XML declaration says UTF-16 (line 1, column 1)',
    ],
    ['with a DOCTYPE', '<?xml version="1.0"?>\n  <!DOCTYPE a>\n<a/>', 'a DOCTYPE is not allowed (line 2, column 3)'],
    ['with a DOCTYPE that names a file', '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', 'a DOCTYPE is not allowed (line 1, column 1)'],
    [
      'with an external entity',
      '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
      'a DOCTYPE is not allowed (line 1, column 1)',
    ],
    ['with an entity bomb', bomb, 'a DOCTYPE is not allowed (line 1, column 1)'],
    ['with an entity bomb in UTF-16', Buffer.from(`\u{feff}${bomb}`, 'utf16le'), 'a DOCTYPE is not allowed (line 1, column 1)'],
    [
      'with 1,000,000 attributes',
      `<a ${Array.from({ length: 1_000_000 }, (_, index) => `a${index}=""`).join(' ')}/>`,
      'more than 10000 attributes in one element (line 1, column 1)',
    ],
    [
      'with 10,001 namespaces',
      `<r>\n<a ${Array.from({ length: 10_001 }, (_, index) => `xmlns:a${index}="u:x"`).join(' ')}/></r>`,
      'more than 10000 attributes in one element (line 2, column 1)',
    ],
    [
      '100,000 elements deep',
      `${'<a>'.repeat(100_000)}${'</a>'.repeat(100_000)}`,
      'more than 200 elements inside each other (line 1, column 601)',
    ],
    [
      'with more than 8,000,000 elements',
      `<a>${'<b/>'.repeat(8_000_000)}</a>`,
      'more than 8000000 elements and attributes (line 1, column 32000000)',
    ],
    [
      'with a namespace that is a relative URI',
      '<a xmlns="b"/>',
      'the document has no canonical form: the namespace "b" is not an absolute URI',
    ],
  ])('%s', async (_what, document, message) => {
    const answer = await sign(enveloped(), [xml, { ...contentDocument(document), ID: 'second' }]);
    const pattern = message.replaceAll(/[()]/g, '\\$&');
    expect(said(answer)).toEqual(['1/105', expect.stringMatching(new RegExp(`^/inputDocuments/1: .*${pattern}`))]);
  });

  it('with nothing but a signature, in which nothing is left to sign', async () => {
    const only = contentDocument('<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>');
    expect(said(await sign(enveloped(), [only]))).toEqual(['1/105', '/inputDocuments/0: there is nothing to sign outside the signatures']);
  });

  it('of more than 64 MiB', async () => {
    const filePath = join(description.readDirectory ?? '', `${randomUUID()}.xml`);
    writeFileSync(filePath, '<a/>');
    truncateSync(filePath, 64 * 1024 * 1024 + 1);
    try {
      for (const parameters of [enveloped(), xp7('EGXXP_7'), xp7('DXXP_7', { signedContentsC14NAlgURI: 'XML_EXC_C_14_N' })]) {
        const answer = await sign(parameters, [xml, { ID: 'big', filePathData: { filePath } }]);
        const message = 'the document has 67108865 bytes; at most 67108864 are supported in XML';
        expect(said(answer)).toEqual(['1/104', `/inputDocuments/1: ${message}`]);
      }
    } finally {
      unlinkSync(filePath);
    }
  });
});

describe('an enveloped signature refuses', () => {
  it.each<[string, string, object, string, string]>([
    [
      'a signedNode that no element has',
      '1/105',
      { signedNode: 'four' },
      'signedNode',
      'no element of the document has the Id "four" (attributes Id, ID, id and xml:id)',
    ],
    [
      'a signedNode that two elements have',
      '1/105',
      { signedNode: 'three' },
      'signedNode',
      'several elements of the document have the Id "three"',
    ],
    [
      'a signedNode by an Id that only some validators take for one',
      '1/105',
      { signedNode: 'five' },
      'signedNode',
      'the element with the Id "five" has it in another attribute than Id, ID, id and xml:id',
    ],
    ['a signedNode that is no Id', '1/102', { signedNode: "one'] | //*" }, 'signedNode', 'not an Id'],
    ['an empty signedNode', '1/102', { signedNode: '' }, 'signedNode', 'not an Id'],
    [
      'an XPath for the position that is none',
      '1/102',
      { xpathSignaturePosition: '//a[' },
      'xpathSignaturePosition',
      'not a valid XPath 1.0 expression',
    ],
    ['an empty one', '1/102', { xpathSignaturePosition: '' }, 'xpathSignaturePosition', 'not a valid XPath 1.0 expression'],
    [
      'one that selects nothing',
      '1/105',
      { xpathSignaturePosition: '//nowhere' },
      'xpathSignaturePosition',
      'the XPath expression selects no element of the document',
    ],
    [
      'one that selects no elements',
      '1/105',
      { xpathSignaturePosition: '//text()' },
      'xpathSignaturePosition',
      'the XPath expression selects no element of the document',
    ],
    [
      'one that is a number',
      '1/105',
      { xpathSignaturePosition: 'count(//*)' },
      'xpathSignaturePosition',
      'the XPath expression selects no nodes but a value',
    ],
    [
      'one with a prefix that nothing declares',
      '1/105',
      { xpathSignaturePosition: '//p:b' },
      'xpathSignaturePosition',
      'the XPath expression cannot be evaluated',
    ],
    [
      'one with an unknown function',
      '1/105',
      { xpathSignaturePosition: 'document("file:///etc/passwd")' },
      'xpathSignaturePosition',
      'the XPath expression cannot be evaluated',
    ],
    [
      'one with an unknown variable',
      '1/105',
      { xpathSignaturePosition: '$x' },
      'xpathSignaturePosition',
      'the XPath expression cannot be evaluated',
    ],
    [
      'a prefix that is none',
      '1/102',
      {
        xpathSignaturePosition: '//b',
        xpathSignaturePositionNS: [
          { prefix: 'p', namespaceURI: 'u:x' },
          { prefix: 'p:q', namespaceURI: 'u:x' },
        ],
      },
      'xpathSignaturePositionNS/1/prefix',
      'not a namespace prefix',
    ],
    [
      'a prefix that is bound twice',
      '1/103',
      {
        xpathSignaturePosition: '//q:b',
        xpathSignaturePositionNS: [
          { prefix: 'q', namespaceURI: 'urn:b' },
          { prefix: 'q', namespaceURI: 'urn:c' },
        ],
      },
      'xpathSignaturePositionNS/1/prefix',
      'the prefix is bound twice',
    ],
    [
      'the prefix xml',
      '1/102',
      { xpathSignaturePosition: '//b', xpathSignaturePositionNS: [{ prefix: 'xml', namespaceURI: 'u:x' }] },
      'xpathSignaturePositionNS/0/prefix',
      'not a namespace prefix',
    ],
    [
      'a namespace that is a relative URI',
      '1/102',
      { xpathSignaturePosition: '//b', xpathSignaturePositionNS: [{ prefix: 'p', namespaceURI: 'b' }] },
      'xpathSignaturePositionNS/0/namespaceURI',
      'not an absolute URI without &, such as urn:example:invoice',
    ],
    [
      'a prefix without a namespace',
      '1/101',
      { xpathSignaturePositionNS: [{ prefix: 'p' }] },
      'xpathSignaturePositionNS/0/namespaceURI',
      '',
    ],
    [
      'NEXT_SIBLING without a position',
      '1/103',
      { signaturePosition: 'NEXT_SIBLING' },
      'signaturePosition',
      'NEXT_SIBLING needs an xpathSignaturePosition that selects another element than the root',
    ],
    [
      'NEXT_SIBLING of the root',
      '1/103',
      { signaturePosition: 'NEXT_SIBLING', xpathSignaturePosition: '/a' },
      'signaturePosition',
      'NEXT_SIBLING of the root element: a document has only one root; name another element in xpathSignaturePosition',
    ],
    ['another position', '1/102', { signaturePosition: 'PREVIOUS_SIBLING' }, 'signaturePosition', ''],
    ['a filter that is no XPath', '1/102', { xpathTransformation: 'a b' }, 'xpathTransformation', 'not a valid XPath 1.0 expression'],
    [
      'a filter that sees the signature itself',
      '1/105',
      { xpathTransformation: 'string-length(/*) > 100' },
      'xpathTransformation',
      'the XPath expression selects ',
    ],
    [
      'a filter that keeps something else once there is a signature',
      '1/105',
      { xpathTransformation: 'ancestor-or-self::c or string-length(/*) > 100' },
      'xpathTransformation',
      'the XPath expression selects something else once the signature is in the document',
    ],
    [
      'a filter that is true for no node',
      '1/105',
      { xpathTransformation: 'self::nowhere' },
      'xpathTransformation',
      'the XPath expression selects nothing',
    ],
    [
      'a filter with a prefix that nothing declares',
      '1/105',
      { xpathTransformation: 'self::p:b' },
      'xpathTransformation',
      'the XPath expression cannot be evaluated',
    ],
    [
      'a filter with a control character',
      '1/102',
      { xpathTransformation: 'self::b[. = "\u0001"]' },
      'xpathTransformation',
      'contains a character that XML does not allow',
    ],
    [
      'a prefix of a filter that is none',
      '1/102',
      { xpathTransformation: 'self::b', xpathTransformationNS: { prefix: '1', namespaceURI: 'u:x' } },
      'xpathTransformationNS/prefix',
      'not a namespace prefix',
    ],
    ['the prefix ds for XAdES', '1/102', { xadesNsPrefix: 'ds' }, 'xadesNsPrefix', 'not a namespace prefix that can be used'],
    ['the prefix sig for XAdES', '1/102', { xadesNsPrefix: 'sig' }, 'xadesNsPrefix', 'not a namespace prefix that can be used'],
    ['a prefix that begins with xml', '1/102', { xadesNsPrefix: 'XmlX' }, 'xadesNsPrefix', 'not a namespace prefix that can be used'],
    ['a long prefix', '1/102', { xadesNsPrefix: 'x'.repeat(257) }, 'xadesNsPrefix', 'at most 256 characters'],
    ['a long Id', '1/102', { signatureId: 'x'.repeat(257), signedNode: 'two' }, 'signatureId', 'at most 256 characters'],
    ['a prefix with a colon', '1/102', { xadesNsPrefix: 'a:b' }, 'xadesNsPrefix', 'not a namespace prefix that can be used'],
    ['an empty prefix', '1/102', { xadesNsPrefix: '' }, 'xadesNsPrefix', 'not a namespace prefix that can be used'],
    ['an Id with a space', '1/102', { signatureId: 'my signature' }, 'signatureId', 'not an Id: a name without a colon'],
    ['an Id that begins with a digit', '1/102', { signatureValueId: '1' }, 'signatureValueId', 'not an Id: a name without a colon'],
    ['one Id for two elements', '1/103', { signatureId: 'x', signedPropertiesId: 'x' }, 'signedPropertiesId', 'the same Id twice'],
    [
      'an Id that the document has',
      '1/105',
      { signedPropertiesId: 'two' },
      'signedPropertiesId',
      'the document already has an element with this Id',
    ],
    [
      'the namespace of a root element without its name',
      '1/103',
      { signatureElementNS: 'urn:x' },
      'signatureElementNS',
      'needs signatureElementName',
    ],
    [
      'a root element that is no name',
      '1/102',
      { signatureElementName: 'a b' },
      'signatureElementName',
      'not the local name of an element',
    ],
    [
      'a root element with a prefix',
      '1/102',
      { signatureElementName: 'p:Proof' },
      'signatureElementName',
      'not the local name of an element',
    ],
    [
      'a relative namespace of a root element',
      '1/102',
      { signatureElementName: 'Proof', signatureElementNS: 'proof' },
      'signatureElementNS',
      'not an absolute URI',
    ],
    ['an unknown version', '1/102', { xadesVersion: 'VERSION_2' }, 'xadesVersion', ''],
    ['an unknown canonicalisation', '1/102', { signedInfoC14NAlgURI: 'XML_C_14_N_20' }, 'signedInfoC14NAlgURI', ''],
    ['a prefix of the other member', '1/102', { xadesPrefix: 'x' }, 'xadesPrefix', ''],
  ])('%s', async (_what, code, parameters, field, message) => {
    expect(said(await sign(enveloped(parameters), [xml]))).toEqual([code, expect.stringContaining(`${envelopedAt}/${field}: ${message}`)]);
    if ('xadesNsPrefix' in parameters || 'xadesPrefix' in parameters || /Id\d?$/.test(field)) return;
    const answer = await sign(xp7('EXXP_7', parameters), [xml]);
    const at = '/parameters/XP7Signature/XP7Providers/EXXP7Parameters';
    expect(said(answer)).toEqual([code, expect.stringContaining(`${at}/${field}: ${message}`)]);
  });

  it.each(['xpathSignaturePosition', 'xpathTransformation'])('an %s that takes too many steps', async (field) => {
    const many = contentDocument(`<a>${'<b><c/></b>'.repeat(20_000)}</a>`);
    const answer = await sign(enveloped({ [field]: '//*[count(//*[count(preceding::*) > 3]) > 7]' }), [many]);
    expect(said(answer)).toEqual([
      '1/105',
      expect.stringMatching(new RegExp(`^${envelopedAt}/${field}: the XPath expression takes (?:more than \\d+ steps|too long)`)),
    ]);
  });
});

describe('text of a request in XML with another encoding', () => {
  const latin = { ID: 'd', plainData: { plainValue: '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>' } };
  const canonical = { signedContentsC14NAlgURI: 'XML_EXC_C_14_N' };

  it.each([
    ['enveloped', enveloped()],
    ['enveloping', xp7('EGXXP_7')],
    ['detached, canonicalised', xp7('DXXP_7', canonical)],
  ])('is refused, %s', async (_form, parameters) => {
    const message = 'the XML declaration says ISO-8859-1, but plainData is signed as UTF-8; base64Data takes any encoding';
    expect(said(await sign(parameters, [latin]))).toEqual(['1/103', `/inputDocuments/0: ${message}`]);
  });

  it('is signed as the bytes that it is by a detached signature', async () => {
    expect(said(await sign(xp7('DXXP_7'), [latin]))).toEqual(['0/0', 'success']);
  });
});

describe('every form of XAdES refuses', () => {
  const forms: readonly [string, (parameters: object, more?: object) => object, string, string][] = [
    ['envelopedXAdESSignature', enveloped, '/parameters/envelopedXAdESSignature', envelopedAt],
    ['EXXP_7', (...given) => xp7('EXXP_7', ...given), '/parameters/XP7Signature', '/parameters/XP7Signature/XP7Providers/EXXP7Parameters'],
    [
      'EGXXP_7',
      (...given) => xp7('EGXXP_7', ...given),
      '/parameters/XP7Signature',
      '/parameters/XP7Signature/XP7Providers/EGXXP7Parameters',
    ],
    ['DXXP_7', (...given) => xp7('DXXP_7', ...given), '/parameters/XP7Signature', detachedAt],
  ];

  it.each(forms)('%s: XAdES 1.1.1 without a signing time', async (_form, parameters, shared) => {
    const none = { signedProperties: { signingTime: { source: 'NONE' } } };
    const answer = await sign(parameters({ xadesVersion: 'VERSION_1_1_1' }, none), [xml]);
    expect(said(answer)).toEqual(['1/103', `${shared}/signedProperties/signingTime/source: XAdES 1.1.1 requires a signing time`]);
    expect(codeOf(await sign(parameters({ xadesVersion: 'VERSION_1_2_2' }, none), [xml]))).toBe('0/0');
  });

  it.each(forms.slice(1))('%s: level LT of the versions that have no place for it', async (_form, parameters, _shared, own) => {
    for (const longTermValidation of [{}, { archiveTimeStamp: true }]) {
      for (const xadesVersion of ['VERSION_1_1_1', 'VERSION_1_2_2']) {
        const answer = await sign(parameters({ xadesVersion }, { timeStamp: {}, longTermValidation }), [xml]);
        const message = 'longTermValidation needs XAdES VERSION_1_3_2 or VERSION_1_4_1; earlier versions support levels B and T';
        expect(said(answer)).toEqual(['1/104', `${own}/xadesVersion: ${message}`]);
      }
    }
  });

  it('envelopedXAdESSignature: longTermValidation, which the interface does not have there', async () => {
    const answer = await sign(enveloped({}, { timeStamp: {}, longTermValidation: {} }), [xml]);
    expect(said(answer)).toEqual(['1/102', expect.stringMatching(/^\/parameters\/envelopedXAdESSignature\/longTermValidation: /)]);
  });

  it.each(forms)('%s: what the other formats refuse too', async (_form, parameters, shared) => {
    const cases: readonly [string, object, string][] = [
      ['1/104', { digestAlgorithm: 'SHA_1' }, `${shared}/digestAlgorithm`],
      ['1/103', { RSAVersion: 'PKCS_1_2_1' }, `${shared}/RSAVersion`],
      ['1/103', { trustedCA: '00'.repeat(20) }, `${shared}/trustedCA`],
      ['1/103', { recovery: { interval: 1 } }, `${shared}/recovery`],
      ['1/103', { signedProperties: { signaturePolicy: 'EXPLICIT' } }, `${shared}/signedProperties/`],
      ['1/103', { signedProperties: { signingTime: { source: 'CLIENT', time: 1 } } }, `${shared}/signedProperties/signingTime`],
      ['1/102', { signedProperties: { commitmentText: '' } }, `${shared}/signedProperties/commitmentText: must not be empty`],
      [
        '1/102',
        { signedProperties: { signerRole: { claimedRoles: { claimedRole: [''] } } } },
        `${shared}/signedProperties/signerRole/claimedRoles/claimedRole/0: must not be empty`,
      ],
      ['1/102', { signedProperties: { commitmentText: 'a\u0001b' } }, `${shared}/signedProperties/commitmentText`],
      [
        '1/102',
        { signedProperties: { signatureProductionPlace: { city: '\u0007' } } },
        `${shared}/signedProperties/signatureProductionPlace/city`,
      ],
      [
        '1/102',
        { signedProperties: { signerRole: { claimedRoles: { claimedRole: ['x', '\u001f'] } } } },
        `${shared}/signedProperties/signerRole/claimedRoles/claimedRole/1`,
      ],
    ];
    for (const [code, more, at] of cases)
      expect(said(await sign(parameters({}, more), [xml]))).toEqual([code, expect.stringContaining(at)]);
  });

  it.each(forms)('%s: a document with a password, or with a digest instead of its content', async (_form, parameters) => {
    const locked = await sign(parameters({}), [{ ...xml, password: 'secret' }]);
    expect(said(locked)).toEqual([expect.stringMatching(/^1\/10[34]$/), expect.stringMatching(/^\/inputDocuments\/0\/password: /)]);
    const digest = { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update('x').digest('base64') };
    const digested = await sign(parameters({}), [{ ID: 'd', digest }]);
    expect(said(digested)).toEqual(['1/103', expect.stringMatching(/^\/inputDocuments\/0/)]);
  });
});

describe('a detached signature refuses', () => {
  const zip = { signatureContainerType: 'ZIP' };
  it.each<[string, string, object, string, string]>([
    [
      'zipDirectoryActivated without a name',
      '1/103',
      { ...zip, zipDirectoryActivated: true },
      'zipDirectoryName',
      'required with zipDirectoryActivated',
    ],
    [
      'signedDataTemplateActivated without a template',
      '1/103',
      { signedDataTemplateActivated: true },
      'signedDataTemplate',
      'required with signedDataTemplateActivated',
    ],
    [
      'a remote template',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: 'https://example.org/${GUID}' },
      'signedDataTemplate',
      'remote and absolute URIs are not supported',
    ],
    [
      'a template of a file',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: 'file:///etc/${file_name}' },
      'signedDataTemplate',
      'remote and absolute URIs are not supported',
    ],
    [
      'a template of another host',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: '//example.org/${GUID}' },
      'signedDataTemplate',
      'remote and absolute URIs are not supported',
    ],
    [
      'an absolute template',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: '/${GUID}' },
      'signedDataTemplate',
      'remote and absolute URIs are not supported',
    ],
    [
      'a template with a query',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: 'a?b=${GUID}' },
      'signedDataTemplate',
      'not a relative URI',
    ],
    [
      'a template with a fragment',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: '#${GUID}' },
      'signedDataTemplate',
      'not a relative URI',
    ],
    [
      'a template with a space',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: 'a ${GUID}' },
      'signedDataTemplate',
      'not a relative URI',
    ],
    [
      'a template with another variable',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: '${user}' },
      'signedDataTemplate',
      'the variable "user" is unknown; known: GUID, date, file_name',
    ],
    [
      'a template with half a percent-encoding',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: '%4' },
      'signedDataTemplate',
      'contains a percent sign without two hexadecimal digits',
    ],
    [
      'a template that is not UTF-8',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: '%E9${GUID}' },
      'signedDataTemplate',
      'contains percent-encoding that is not UTF-8',
    ],
    [
      'a template that leads up',
      '1/102',
      { signedDataTemplateActivated: true, signedDataTemplate: '../${GUID}' },
      'signedDataTemplate',
      'the name of the signed file contains "." or ".." as a segment',
    ],
    [
      'a template that leads up in percent-encoding',
      '1/102',
      { ...zip, signedDataTemplateActivated: true, signedDataTemplate: 'a/%2E%2E/${GUID}' },
      'signedDataTemplate',
      'the name of the signed file contains "." or ".." as a segment',
    ],
    [
      'a template with an encoded backslash',
      '1/102',
      { ...zip, signedDataTemplateActivated: true, signedDataTemplate: 'a%5C${GUID}' },
      'signedDataTemplate',
      'the name of the signed file contains a backslash',
    ],
    [
      'a template that is empty',
      '1/102',
      { ...zip, signedDataTemplateActivated: true, signedDataTemplate: '' },
      'signedDataTemplate',
      'the name of the signed file is empty',
    ],
    [
      'a signature that is not below the container',
      '1/102',
      { ...zip, zipSignatureFileName: '../signature.xml' },
      'zipSignatureFileName',
      'the name of the signature file contains "." or ".." as a segment',
    ],
    [
      'an absolute name of the signature',
      '1/102',
      { ...zip, zipSignatureFileName: '/signature.xml' },
      'zipSignatureFileName',
      'the name of the signature file is absolute',
    ],
    [
      'a name with the letter of a drive',
      '1/102',
      { ...zip, zipSignatureFileName: 'C:signature.xml' },
      'zipSignatureFileName',
      'the name of the signature file begins with the letter of a drive',
    ],
    [
      'a name of the signature that is a device on Windows',
      '1/102',
      { ...zip, zipSignatureFileName: 'a/con.xml' },
      'zipSignatureFileName',
      'the name of the signature file contains "con.xml", which is a device on Windows',
    ],
    [
      'a directory that Windows cannot make',
      '1/102',
      { ...zip, zipDirectoryActivated: true, zipDirectoryName: 'what?' },
      'zipDirectoryName',
      'the name of the directory contains the character ?',
    ],
    [
      'an empty name of the signature',
      '1/102',
      { ...zip, zipSignatureFileName: '' },
      'zipSignatureFileName',
      'the name of the signature file is empty',
    ],
    [
      'a directory that leads up',
      '1/102',
      { ...zip, zipDirectoryActivated: true, zipDirectoryName: 'a/../..' },
      'zipDirectoryName',
      'the name of the directory contains "." or ".." as a segment',
    ],
    [
      'a directory with a control character',
      '1/102',
      { ...zip, zipDirectoryActivated: true, zipDirectoryName: 'a\u0000b' },
      'zipDirectoryName',
      'the name of the directory contains a control character',
    ],
    [
      'the name of the document for the signature',
      '1/103',
      { ...zip, zipSignatureFileName: 'NOTE.txt' },
      'zipSignatureFileName',
      'the signed file "note.txt" has a name that the container needs for itself',
    ],
    [
      'a signature in a directory that is the document',
      '1/103',
      { ...zip, zipSignatureFileName: 'note.txt/signature.xml' },
      'zipSignatureFileName',
      'the signed file "note.txt" has a name that the container needs for itself',
    ],
    ['a compression level beyond 9', '1/102', { ...zip, zipCompressionLevel: 10 }, 'zipCompressionLevel', ''],
    ['another container', '1/102', { signatureContainerType: 'TAR' }, 'signatureContainerType', ''],
  ])('%s', async (_what, code, parameters, field, message) => {
    const answer = await sign(xp7('DXXP_7', parameters), [{ ...contentDocument('x'), fileName: 'note.txt' }]);
    expect(said(answer)).toEqual([code, expect.stringContaining(`${detachedAt}/${field}: ${message}`)]);
  });

  it.each<[string, string, readonly object[], object, string]>([
    [
      'two documents with one name',
      '1/103',
      [
        { ID: 'a', fileName: 'x' },
        { ID: 'b', fileName: 'X' },
      ],
      {},
      '/inputDocuments/1/fileName: two documents have the same name "X", upper and lower case being the same',
    ],
    [
      'a document with the name of another as its ID',
      '1/103',
      [{ ID: 'a', fileName: 'b' }, { ID: 'b' }],
      {},
      '/inputDocuments/1/ID: two documents have the same name "b"',
    ],
    [
      'one template for two documents',
      '1/103',
      [{ ID: 'a' }, { ID: 'b' }],
      { signedDataTemplateActivated: true, signedDataTemplate: 'data' },
      `${detachedAt}/signedDataTemplate: two documents have the same name "data"`,
    ],
    [
      'an ID that leads up',
      '1/102',
      [{ ID: '../a' }],
      {},
      '/inputDocuments/0/ID: the name of the signed file contains "." or ".." as a segment',
    ],
    ['an absolute ID', '1/102', [{ ID: 'a' }, { ID: '/etc/passwd' }], {}, '/inputDocuments/1/ID: the name of the signed file is absolute'],
    [
      'the media type of an ASiC-E container as a document',
      '1/103',
      [{ ID: 'mimetype' }],
      { signatureContainerType: 'ZIP', zipSignatureFileName: 'META-INF/signatures.xml' },
      `${detachedAt}/zipSignatureFileName: the signed file "mimetype" has a name that the container needs for itself`,
    ],
    [
      'its manifest as a document',
      '1/103',
      [{ ID: 'META-INF/manifest.xml' }],
      { signatureContainerType: 'ZIP', zipSignatureFileName: 'META-INF/signatures1.xml' },
      `${detachedAt}/zipSignatureFileName: the signed file "META-INF/manifest.xml" has a name`,
    ],
  ])('%s', async (_what, code, documents, parameters, message) => {
    const inputDocuments = documents.map((one) => ({ ...contentDocument('x'), ...one }));
    expect(said(await sign(xp7('DXXP_7', parameters), inputDocuments))).toEqual([code, expect.stringContaining(message)]);
  });
});

describe('a refusal uses up', () => {
  const document = '<a/>';
  const digest = { id: 'd', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update(document).digest('base64') };
  const refused: readonly [string, object, string, string][] = [
    ['1/102', enveloped({ xpathSignaturePosition: '[' }), document, 'an XPath that is none'],
    ['1/105', enveloped({ signedNode: 'x' }), document, 'a signedNode that is not there'],
    ['1/105', enveloped(), '<a>', 'a document that is not well formed'],
    ['1/103', xp7('DXXP_7', { signedDataTemplateActivated: true }), document, 'inconsistent fields'],
  ];
  const created = async (signatureActivationProtocol: string): Promise<Record<string, string>> => {
    const { body } = await call(client, 'pki/createCertificate', certificateRequest({ signatureActivationProtocol }));
    return body['keyReference'] as unknown as Record<string, string>;
  };

  it('no single-use key', async () => {
    const own = await created('SINGLE_USE');
    for (const [code, parameters, content, what] of refused)
      expect(codeOf(await sign(parameters, [contentDocument(content)], own)), what).toBe(code);
    expect(codeOf(await sign(enveloped(), [contentDocument(document)], own))).toBe('0/0');
    expect(codeOf(await sign(enveloped(), [contentDocument(document)], own))).toBe('2/204');
  });

  it('no one-time password', async () => {
    const { reference } = await created('OTP');
    const sent = await call(client, 'pki/sendOTP', { action: 'SIGN', keyReference: reference, signerData: { digest: [digest] } });
    const own = { reference, password: textOf(sent.body['password']) };
    for (const [code, parameters, content, what] of refused)
      expect(codeOf(await sign(parameters, [contentDocument(content)], own)), what).toBe(code);
    expect(codeOf(await sign(enveloped(), [contentDocument(document)], own))).toBe('0/0');
    expect(codeOf(await sign(enveloped(), [contentDocument(document)], own))).toBe('2/202');
  });

  it('no attempt of a password: a wrong one is not looked at', async () => {
    const { reference } = await newKey(client);
    for (let time = 0; time < 6; time += 1) {
      const answer = await sign(enveloped({ signedNode: 'x' }), [contentDocument(document)], { reference, password: 'wrong' });
      expect(codeOf(answer)).toBe('1/105');
    }
    const { body } = await call(client, 'pki/checkKey', { keyReference: { reference } });
    expect([textOf(body['state']), textOf(body['remainingAttempts'])]).toEqual(['ACTIVE', '5']);
  });
});
