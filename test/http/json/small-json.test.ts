import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LongText } from '../../../src/documents/long-text.ts';
import { Base64 } from '../../../src/fields/values.ts';
import { JsonError } from '../../../src/http/json/json-scanner.ts';
import { parseSmallJson } from '../../../src/http/json/small-json.ts';
import { decodeBase64 } from '../../../src/http/json/strict-base64.ts';
import { parseStrictJson } from '../../../src/http/json/strict-json.ts';

const limits = { valuesMax: 1000 };

/** With its long texts written out. */
function plain(value: unknown): unknown {
  if (value instanceof LongText) return value.toText();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

/** The value, or the fault with its position. */
function outcome(read: typeof parseSmallJson, bytes: Buffer): unknown {
  try {
    return plain(read(bytes, limits));
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { message: error.message, position: error.position, name: error.constructor.name };
  }
}

/** Whether the rule that reads a text as a string takes it: decoded and encoded again, it is the same. */
function expectedBytes(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Long base64 with something in it that does not belong there, or nothing. */
const almostBase64 = fc
  .record({
    length: fc.oneof(fc.integer({ min: 3000, max: 3200 }), fc.integer({ min: 24_570, max: 24_580 }), fc.constant(98_304)),
    byte: fc.nat(255),
    wrong: fc.option(
      fc.constantFrom('-', '_', '=', '==', ' ', '\n', '\0', 'é', '\u{1f600}', '"', '\\', '\\/', '\\u0041', 'A', 'AAAA', '/', '.'),
    ),
    place: fc.double({ min: 0, max: 1, noNaN: true }),
    replaces: fc.boolean(),
  })
  .map(({ length, byte, wrong, place, replaces }) => {
    const text = Buffer.alloc(length, byte).toString('base64');
    if (wrong === null) return text;
    const at = Math.round(place * text.length);
    return `${text.slice(0, at)}${wrong}${text.slice(at + (replaces ? wrong.length : 0))}`;
  });

describe('base64 that is decoded', () => {
  it('is what the encoding of its bytes gives again, and nothing else', () => {
    const short = fc.string({ unit: fc.constantFrom('A', 'z', '0', '+', '/', '=', '-', '_', ' ', '\n', 'é'), maxLength: 12 });
    const good = fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64'));
    fc.assert(
      fc.property(fc.oneof(short, good, almostBase64), (text) => {
        expect(decodeBase64(Buffer.from(text))).toEqual(expectedBytes(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses each wrong byte at each place of a group, in the first slice and in the last', () => {
    const good = Buffer.alloc(60_000, 0x5a).toString('base64');
    for (let byte = 0; byte < 256; byte += 1) {
      for (const at of [0, 1, 2, 3, 32_767, 32_768, good.length - 5, good.length - 1]) {
        const bytes = Buffer.from(good);
        bytes[at] = byte;
        expect(decodeBase64(bytes)).toEqual(expectedBytes(bytes.toString('latin1')));
      }
    }
  });
});

describe('a small body', () => {
  it('is the same value as with every text as a string, or has the same fault at the same position', () => {
    const around = fc.constantFrom(
      (text: string) => `{"inputDocuments":[{"base64Data":{"base64Value":"${text}"}}]}`,
      (text: string) => `{"é":1,"base64Value" : "${text}" ,"b":{"base64Value":"QUJD"}}`,
      (text: string) => `{"base64Value":["${text}"],"__proto__":{"base64Value":"${text}"},"c":"${text}"}`,
      (text: string) => `{"base64\\u0056alue":"${text}","2":{"base64Value":"${text}"},"1":[{"base64Value":"${text}"}]}`,
      (text: string) => `{"base64Value":"${text}","base64Value":"${text}"}`,
      (text: string) => `{"base64Value":"${text}"`,
      (text: string) => `{"base64Value":"${text}","a":"\u0001"}`,
      (text: string) => `{"base64Value":"${text}","a":"\\ud800"}`,
      (text: string) => `{"${text}":"${text}","a":[${'1,'.repeat(1000)}1]}`,
      (text: string) => `\ufeff{"base64Value":"${text}"}`,
    );
    fc.assert(
      fc.property(around, almostBase64, (body, text) => {
        const bytes = Buffer.from(body(text));
        expect(outcome(parseSmallJson, bytes)).toEqual(outcome(parseStrictJson, bytes));
      }),
      { numRuns: 1000 },
    );
  });

  it('is refused for bytes in its content that are not UTF-8, at their position', () => {
    const bytes = Buffer.from(`{"base64Value":"${'QUJD'.repeat(2000)}"}`);
    bytes[5000] = 0xff;
    expect(outcome(parseSmallJson, bytes)).toEqual({ message: 'not valid UTF-8', position: 5000, name: 'JsonError' });
  });

  it('has its long content decoded, and all other texts as strings', () => {
    const content = Buffer.alloc(100_000, 0x37);
    const text = content.toString('base64');
    const value = parseSmallJson(Buffer.from(JSON.stringify({ base64Value: text, other: text, list: [{ base64Value: 'QUJD' }] })), limits);
    expect(value).toEqual({ base64Value: new LongText('base64', content), other: text, list: [{ base64Value: 'QUJD' }] });
    expect(Base64.parse(value['base64Value'])).toEqual(content);
  });
});
