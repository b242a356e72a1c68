import { randomInt, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, description, directory, messageOf, textOf, type Body } from '../support/api.ts';

const operation = 'pki/sendMessage';
const outbox = description.outboxDirectory ?? '';

interface Sent {
  readonly channel: string;
  readonly to: string;
  readonly text: string;
}

/** What the quickstart's gateways got that has this in its text. */
function sentWith(part: string): Sent[] {
  return readdirSync(outbox)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(outbox, name), 'utf8')) as Sent)
    .filter(({ text }) => text.includes(part));
}

const marked = (text = ''): { mark: string; message: string } => {
  const mark = `mark-${randomUUID()}`;
  return { mark, message: `${mark} ${text}` };
};
/** JSON in which each UTF-16 unit is an escape. */
const escaped = (text: string): string =>
  `"${Array.from({ length: text.length }, (_, index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')}"`;
const phone = (): string => `+336${randomInt(10_000_000, 99_999_999)}`;

async function keyOf(client: 'app' | 'other', subscriber: object): Promise<string> {
  const { body } = await call(
    client,
    'pki/createCertificate',
    certificateRequest({ PKCS10: { attributes: { subscriber }, subject: { country: 'FR', commonName: 'Camille Martin' } } }),
  );
  return textOf(body['keyReference']?.['reference']);
}

const responses = (body: Body): Body[] => Object.values(body['senderResponses']?.['senderResponse'] ?? {});

describe('sendMessage', () => {
  it.each([
    ['by SMS to a number', { phoneNumber: '+33612345678' }, 'sms', '+33612345678', 'queued'],
    ['by e-mail to an address', { emailAddress: 'zoe@example.org' }, 'email', 'zoe@example.org', '250'],
    ['by SMS where both are known', { phoneNumber: '+33612345678', emailAddress: 'zoe@example.org' }, 'sms', '+33612345678', 'queued'],
  ])('sends %s and answers what the gateway said', async (_what, subscriber, channel, to, responseCode) => {
    const { mark, message } = marked('Zoé, {{otp}} "ready"\nline\ttwo 😀');
    const before = Date.now();
    const answer = await call('app', operation, { message, subscriber, requestID: 'order 1' });
    expect(codeOf(answer)).toBe('0/0');
    expect(answer.body['requestID']).toBe('order 1');
    expect(sentWith(mark)).toEqual([{ channel, to, text: message }]);
    const [one, ...others] = responses(answer.body);
    expect(others).toEqual([]);
    expect(one).toMatchObject({ responseCode });
    expect(textOf(one?.['messageID'])).toMatch(/^2/);
    expect(textOf(one?.['url'])).toMatch(/^(https|smtp):\/\/127/);
    expect(Number(one?.['date'])).toBeGreaterThanOrEqual(before);
    expect(textOf(one?.['ID'])).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("sends to a key's subscriber, unless another is given", async () => {
    const keyReferenceId = await keyOf('app', { emailAddress: 'owner@example.org' });
    const [first, second, third] = [marked(), marked(), marked()];
    expect(codeOf(await call('app', operation, { message: first.message, keyReferenceId }))).toBe('0/0');
    expect(
      codeOf(await call('app', operation, { message: second.message, keyReferenceId: keyReferenceId.toUpperCase(), subscriber: {} })),
    ).toBe('0/0');
    const subscriber = { emailAddress: 'else@example.org' };
    expect(codeOf(await call('app', operation, { message: third.message, keyReferenceId, subscriber }))).toBe('0/0');
    expect([first, second, third].map(({ mark }) => sentWith(mark).map(({ to }) => to))).toEqual([
      ['owner@example.org'],
      ['owner@example.org'],
      ['else@example.org'],
    ]);
  });

  const subscriber = { emailAddress: 'zoe@example.org' };
  it.each<[string, object, string, RegExp]>([
    ['no text', { subscriber }, '1/101', /^\/message/],
    ['an empty text', { message: '', subscriber }, '1/102', /^\/message/],
    ['a text with a control character', { message: 'a\u0000b', subscriber }, '1/102', /^\/message.*control/],
    ['a text with an escape', { message: 'a\u001b[2J', subscriber }, '1/102', /^\/message.*control/],
    ['100,001 characters', { message: 'x'.repeat(100_001), subscriber }, '1/102', /^\/message.*100000/],
    [
      '1,601 characters for an SMS',
      { message: 'x'.repeat(1601), subscriber: { phoneNumber: '+33612345678' } },
      '1/102',
      /^\/message.*1601.*1600/,
    ],
    ['neither subscriber nor key', { message: 'x' }, '1/103', /subscriber or keyReferenceId/],
    ['an address that is none', { message: 'x', subscriber: { emailAddress: 'zoe' } }, '1/102', /^\/subscriber\/emailAddress/],
    ['an address with a second one', { message: 'x', subscriber: { emailAddress: 'a@b.example,c@d.example' } }, '1/102', /emailAddress/],
    [
      'an address with a line break',
      { message: 'x', subscriber: { emailAddress: 'a@b.example\r\nBcc: c@d.example' } },
      '1/102',
      /emailAddress/,
    ],
    ['a number that is none', { message: 'x', subscriber: { phoneNumber: '0612345678' } }, '1/102', /^\/subscriber\/phoneNumber/],
    ['a number with a line break', { message: 'x', subscriber: { phoneNumber: '+33612345678\n' } }, '1/102', /phoneNumber/],
    ['a reference that is none', { message: 'x', keyReferenceId: '12' }, '1/102', /^\/keyReferenceId/],
    ['an unknown member', { message: 'x', subscriber, channel: 'sms' }, '1/102', /channel/],
    ['an unknown key', { message: 'x', keyReferenceId: '0'.repeat(40) }, '2/201', /no such key/],
    ['an unknown key beside a subscriber', { message: 'x', keyReferenceId: '0'.repeat(40), subscriber }, '2/201', /no such key/],
    ['a subscriber who has no address', { message: 'x', subscriber: {} }, '2/251', /neither a telephone number nor an e-mail/],
  ])('with %s sends nothing', async (_what, body, code, words) => {
    const before = readdirSync(outbox).length;
    const answer = await call('p384', operation, body);
    expect(codeOf(answer)).toBe(code);
    expect(messageOf(answer)).toMatch(words);
    expect(answer.body['senderResponses']).toBeUndefined();
    expect(readdirSync(outbox)).toHaveLength(before);
  });

  it("sends nothing to another tenant's subscriber, nor to a key that has none", async () => {
    const foreign = await keyOf('other', { emailAddress: 'owner@example.org' });
    expect(codeOf(await call('app', operation, { message: 'x', keyReferenceId: foreign }))).toBe('2/201');
    const lonely = await keyOf('app', {});
    expect(codeOf(await call('app', operation, { message: 'x', keyReferenceId: lonely }))).toBe('2/251');
  });

  it('needs the role', async () => {
    expect(codeOf(await call('signer', operation, { message: 'x', subscriber }))).toBe('HTTP 403');
  });

  it('sends a text of 100,000 characters by e-mail', async () => {
    const { mark, message } = marked();
    const text = message + 'é'.repeat(100_000 - message.length);
    expect(codeOf(await call('app', operation, { message: text, subscriber }))).toBe('0/0');
    expect(sentWith(mark)).toEqual([{ channel: 'email', to: 'zoe@example.org', text }]);
  });

  it.each([
    ['of four bytes each', (text: string): string => JSON.stringify(text), '\u{1f58b}'],
    ['of three bytes each', (text: string): string => JSON.stringify(text), '\u20ac'],
    ['written as escapes', escaped, '\u{1f58b}'],
    ['that look like base64, written as escapes', escaped, 'A'],
  ])('sends a text of 100,000 characters %s by e-mail, and none of 100,001', async (_what, written, character) => {
    const { mark, message } = marked();
    const text = message + character.repeat(100_000 - message.length);
    const body = (one: string): string => `{"message":${written(one)},"subscriber":${JSON.stringify(subscriber)}}`;
    expect(codeOf(await call('app', operation, body(text)))).toBe('0/0');
    expect(sentWith(mark)).toEqual([{ channel: 'email', to: 'zoe@example.org', text }]);
    const refused = await call('app', operation, body(text + character));
    expect([codeOf(refused), messageOf(refused)]).toEqual(['1/102', expect.stringMatching(/^\/message.*at most 100000 characters/)]);
    const plain = await call('app', operation, body(character.repeat(100_001)));
    expect([codeOf(plain), messageOf(plain)]).toEqual(['1/102', expect.stringMatching(/^\/message.*at most 100000 characters/)]);
    expect(codeOf(await call('app', operation, body(character.repeat(1_000_000))))).toBe('1/102');
    expect(sentWith(mark)).toHaveLength(1);
  });

  it('sends once for a request that is repeated with its Idempotency-Key, at the same moment too', async () => {
    const { mark, message } = marked();
    const [body, headers] = [{ message, subscriber: { phoneNumber: phone() } }, { 'Idempotency-Key': randomUUID() }];
    const answers = await Promise.all(Array.from({ length: 10 }, async () => call('app', operation, body, headers)));
    answers.push(await call('app', operation, body, headers));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(codeOf(answers[0] ?? (await call('app', operation, body)))).toBe('0/0');
    expect(sentWith(mark)).toHaveLength(1);
    expect(codeOf(await call('app', operation, { ...body, message: 'other' }, headers))).toBe('HTTP 422');
  });

  it('leaves neither text nor addresses in the log, the audit log and the state store', async () => {
    const { mark, message } = marked('secret words');
    const to = phone();
    await call('app', operation, { message, subscriber: { phoneNumber: to } }, { 'Idempotency-Key': randomUUID() });
    expect(sentWith(mark)).toHaveLength(1);
    const audit = join(directory, 'audit');
    const files = [
      join(directory, 'daemon.log'),
      ...readdirSync(audit).map((name) => join(audit, name)),
      ...['', '-wal'].map((end) => join(directory, `state.sqlite${end}`)),
    ];
    const held = files.map((file) => readFileSync(file, 'latin1'));
    for (const text of held) for (const part of [mark, to, to.slice(1)]) expect(text.includes(part)).toBe(false);
    expect(held.join('')).toContain(operation);
  });
});
