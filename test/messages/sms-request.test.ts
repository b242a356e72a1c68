import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SmsConfig } from '../../src/config/sms-config.ts';
import { SmsRequestTemplate } from '../../src/messages/sms-request.ts';

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc
    .array(
      fc.constantFrom(
        ...['\r\n', '\n', '\0', '"', '\\', "'", '&', '=', '?', '#', '/', '..', '%00', '%0d%0a', '+', '{{text}}', '{{secret.token}}', '{{'],
        ...['}}', '@evil.example', '\u2028', 'X-Evil: 1', '","to":"+1999', '<', '__proto__'],
      ),
      { minLength: 1, maxLength: 8 },
    )
    .map((parts) => parts.join('')),
);
const wellFormed = hostile.map((text) => text.toWellFormed());

function templateOf(settings: Record<string, unknown>): SmsRequestTemplate {
  return new SmsRequestTemplate(SmsConfig.parse({ secrets: { token: 'file:x' }, ...settings }));
}

const values = (text: string, token = 'token'): ReadonlyMap<string, string> =>
  new Map([
    ['text', text],
    ['phoneNumber', '+33612345678'],
    ['phoneDigits', '33612345678'],
    ['id', 'id-1'],
    ['secret.token', token],
  ]);

describe('whatever the text is', () => {
  it('JSON has it as one string where it belongs, and nothing else changes', () => {
    const json = {
      to: ['{{phoneNumber}}'],
      message: { text: '<{{text}}>', n: 5, yes: true, nothing: null, fixed: 'a' },
      twice: '{{text}}{{text}}',
    };
    const template = templateOf({ url: 'https://gateway.example/x', body: { json } });
    fc.assert(
      fc.property(wellFormed, (text) => {
        expect(JSON.parse(template.requestFor(values(text)).body ?? '')).toEqual({
          to: ['+33612345678'],
          message: { text: `<${text}>`, n: 5, yes: true, nothing: null, fixed: 'a' },
          twice: text + text,
        });
      }),
    );
  });

  it('a form contains it as one value of its field', () => {
    const template = templateOf({
      url: 'https://gateway.example/x',
      body: { form: { To: '{{phoneNumber}}', Body: '{{text}}', key: '{{secret.token}}' } },
    });
    fc.assert(
      fc.property(wellFormed, (text) => {
        const body = template.requestFor(values(text)).body ?? '';
        expect(body).toMatch(/^[!-~]*$/);
        expect([...new URLSearchParams(body)]).toEqual([
          ['To', '+33612345678'],
          ['Body', text],
          ['key', 'token'],
        ]);
      }),
    );
  });

  it('a query contains it as one value, and the URL has the same target', () => {
    const template = templateOf({ method: 'GET', url: 'https://gateway.example:8443/send/{{phoneDigits}}?key=k&text={{text}}&last=1' });
    fc.assert(
      fc.property(wellFormed, (text) => {
        const { url } = template.requestFor(values(text));
        expect(url.href).toMatch(/^[!-~]+$/);
        expect([url.origin, url.pathname, url.hash, url.username]).toEqual(['https://gateway.example:8443', '/send/33612345678', '', '']);
        expect([...url.searchParams]).toEqual([
          ['key', 'k'],
          ['text', text],
          ['last', '1'],
        ]);
      }),
    );
  });
});

describe('whatever a secret is', () => {
  it('a header has it as it is, or nothing is sent', () => {
    const template = templateOf({ url: 'https://gateway.example/x', headers: { 'X-Key': '{{secret.token}}' } });
    fc.assert(
      fc.property(hostile, (token) => {
        const fill = (): string | undefined => template.requestFor(values('text', token)).headers['X-Key'];
        if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(token)) expect(fill()).toBe(token);
        else expect(fill).toThrow(RangeError);
      }),
    );
  });

  it('a path has it as one segment, or nothing is sent', () => {
    const template = templateOf({ url: 'https://gateway.example/a/{{secret.token}}/b' });
    fc.assert(
      fc.property(wellFormed, (token) => {
        const fill = (): URL => template.requestFor(values('text', token)).url;
        if (/^\.*$/.test(token)) {
          expect(fill).toThrow(RangeError);
          return;
        }
        const segments = fill().pathname.split('/');
        expect(segments).toHaveLength(4);
        expect(decodeURIComponent(segments[2] ?? '')).toBe(token);
        expect(fill().origin).toBe('https://gateway.example');
      }),
    );
  });

  it('is in no URL that is shown', () => {
    expect(templateOf({ url: 'https://gateway.example/bot{{secret.token}}/x?key={{secret.token}}' }).shownUrl).toBe(
      'https://gateway.example/bot{secret.token}/x',
    );
  });
});

describe('a configuration', () => {
  const base = { url: 'https://gateway.example/x', secrets: { token: 'file:x' } };
  it.each<[string, Record<string, unknown>, RegExp]>([
    ['a text in a path', { url: 'https://gateway.example/{{text}}' }, /\{\{text\}\} is not allowed here/],
    ['a text in a header', { headers: { 'X-Text': '{{text}}' } }, /is not allowed here/],
    ['a placeholder for the host', { url: 'https://{{phoneDigits}}.example/' }, /with a literal host/],
    ['a user in the URL', { url: 'https://user:word@gateway.example/' }, /without user/],
    ['a fragment', { url: 'https://gateway.example/#x' }, /fragment/],
    ['another scheme', { url: 'ftp://gateway.example/' }, /http/],
    ['HTTP to another machine', { url: 'http://gateway.example/' }, /unencrypted/],
    ['a secret that is nowhere', { headers: { 'X-Key': '{{secret.other}}' } }, /no secret "other" in secrets/],
    ['a placeholder that is none', { body: { json: { a: ['{{txet}}'] } } }, /\{\{txet\}\} is not allowed here; .*\{\{text\}\}/],
    ['a placeholder that has no end', { body: { form: { a: '{{text' } } }, /must begin a placeholder/],
    ['a one-time password', { body: { json: '{{otp}}' } }, /is not allowed here/],
    ['a header with a line break', { headers: { 'X-A': 'a\r\nb' } }, /visible ASCII/],
    ['a header of the transport', { headers: { Host: 'evil.example' } }, /sets this header itself/],
    ['a header that is no name', { headers: { 'X A': '1' } }, /not a valid header name/],
    [
      'two authorisations',
      { headers: { authorization: 'x' }, basicAuthentication: { user: 'u', password: 'file:x' } },
      /basicAuthentication/,
    ],
    ['a GET with a body', { method: 'GET', body: { form: {} } }, /no body/],
    ['a secret in clear', { secrets: { token: 'tok' } }, /file:<path>/],
    ['a pattern without a group', { answer: { code: { pattern: '\\d+' } } }, /group/],
    ['a pattern that is none', { answer: { code: { pattern: '(' } } }, /regular expression/],
    ['two bodies', { body: { json: {}, form: {} } }, /exactly one of/],
    ['two ways to read a code', { answer: { code: { jsonPointer: '/a', pattern: '(a)' } } }, /exactly one of/],
    ['a secret with an odd name', { secrets: { 'a.b': 'file:x' } }, /letters, digits and hyphens/],
    ['a pointer that is none', { answer: { code: { jsonPointer: 'id' } } }, /RFC 6901/],
  ])('with %s is refused in plain words', (_what, settings, words) => {
    const { error } = SmsConfig.safeParse({ ...base, ...settings });
    expect(error?.issues.map(({ message }) => message).join('\n')).toMatch(words);
  });

  it('may use HTTP to this machine, and elsewhere only if configured', () => {
    expect(SmsConfig.safeParse({ ...base, url: 'http://[::1]:80/x' }).success).toBe(true);
    expect(SmsConfig.safeParse({ ...base, url: 'http://gateway.example/x', allowUnencrypted: true }).success).toBe(true);
  });
});
