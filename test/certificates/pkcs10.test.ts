import { describe, expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { Pkcs10 } from '../../src/certificates/pkcs10.ts';

const base64 = (value: Uint8Array): string => Buffer.from(value).toString('base64');
const anything = base64(der.nullValue());

describe('the schema refuses', () => {
  const withAttributes = (asked: object) =>
    Pkcs10.safeParse({ attributes: { subscriber: {}, ...asked }, subject: { country: 'FR', commonName: 'x' } });
  test.each([
    ['base64 with a line break', { attribute: [{ identifier: '1.2.3', value: `${anything}\n` }] }, ['attributes', 'attribute', 0, 'value']],
    ['base64 with stray bits', { attribute: [{ identifier: '1.2.3', value: 'BQB=' }] }, ['attributes', 'attribute', 0, 'value']],
    ['a value that is not DER', { any: { '1.2.3': 'BQEA' } }, ['attributes', 'any', '1.2.3']],
    ['two elements in a value', { any: { '1.2.3': base64(Buffer.from('05000500', 'hex')) } }, ['attributes', 'any', '1.2.3']],
    ['a member that is no OID', { any: { name: anything } }, ['attributes', 'any', 'name']],
    [
      'an OID without an encoding',
      { attribute: [{ identifier: '1.40.1', value: anything }] },
      ['attributes', 'attribute', 0, 'identifier'],
    ],
    ['a telephone number of another form', { subscriber: { phoneNumber: '0612345678' } }, ['attributes', 'subscriber', 'phoneNumber']],
    [
      'no alternative name',
      { extensionRequest: { subjectAlternativeName: { generalName: [] } } },
      ['attributes', 'extensionRequest', 'subjectAlternativeName', 'generalName'],
    ],
  ])('%s', (_, asked, path) => {
    expect(withAttributes(asked).error?.issues.map((issue) => issue.path)).toEqual([path]);
  });

  test.each([
    'a',
    'a@',
    '@b.test',
    'a@b',
    'a b@c.test',
    'a..b@c.test',
    '.a@c.test',
    'a@-c.test',
    'a@c.test.',
    'é@c.test',
    'a@é.test',
    'a@c.test\r\nX: y',
    `${'a'.repeat(65)}@c.test`,
    'a@[127.0.0.1]',
  ])('the address %j', (emailAddress) => {
    expect(withAttributes({ subscriber: { emailAddress } }).success).toBe(false);
  });

  test.each(['a@b.test', "o'neil+tag@mail.example.test", 'a.b@xn--caf-dma.test'])('but not the address %s', (emailAddress) => {
    expect(withAttributes({ subscriber: { emailAddress, phoneNumber: '+33612345678' } }).success).toBe(true);
  });

  test('a value beyond any size', () => {
    const value = base64(der.octetString(new Uint8Array(100_000)));
    expect(withAttributes({ any: { '1.2.3': value } }).success).toBe(false);
  });

  test('a request without subscriber, and names its pointer', () => {
    const { error } = Pkcs10.safeParse({ attributes: {}, subject: { country: 'FR', commonName: 'x' } });
    expect(error?.issues.map((issue) => issue.path)).toEqual([['attributes', 'subscriber']]);
  });
});
