import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { SmsConfig } from '../../src/config/sms-config.ts';
import { formsOf, printable } from '../../src/messages/printable.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { readSmsAnswer } from '../../src/messages/sms-answer.ts';

const answerConfig = (answer: Record<string, unknown>): SmsConfig['answer'] =>
  SmsConfig.parse({ url: 'https://g.example/', answer }).answer;
const threads = new WorkThreads();
afterAll(async () => threads.stop());
const read = async (answer: Record<string, unknown>, body: unknown, status = 200): ReturnType<typeof readSmsAnswer> =>
  readSmsAnswer({ status, body: typeof body === 'string' ? body : JSON.stringify(body) }, answerConfig(answer), threads);

describe('an answer of an SMS gateway', () => {
  it.each<[string, unknown, string | undefined]>([
    ['/messages/0/id', { messages: [{ id: 'a' }] }, 'a'],
    ['/messages/1/id', { messages: [{ id: 'a' }] }, undefined],
    ['/id', { id: 17 }, '17'],
    ['/ok', { ok: false }, 'false'],
    ['/a~1b/~0', { 'a/b': { '~': 'x' } }, 'x'],
    ['', 'null', undefined],
    ['/constructor/name', {}, undefined],
    ['/__proto__', {}, undefined],
    ['/id', { id: { deep: 1 } }, undefined],
    ['/id', '{"id":', undefined],
    ['/length', '[1]', undefined],
    ['/01', '[1,2]', undefined],
  ])('at %s of %j has %j', async (jsonPointer, body, expected) => {
    expect((await read({ messageId: { jsonPointer } }, body)).messageId).toBe(expected);
  });

  it.each<[Record<string, unknown>, number, unknown, boolean]>([
    [{}, 200, '', true],
    [{}, 299, '', true],
    [{}, 300, '', false],
    [{ statuses: [202] }, 200, '', false],
    [{ statuses: [202] }, 202, '', true],
    [{ code: { jsonPointer: '/c' }, codes: ['0', '1'] }, 200, { c: 1 }, true],
    [{ code: { jsonPointer: '/c' }, codes: ['0', '1'] }, 200, { c: 2 }, false],
    [{ code: { jsonPointer: '/c' }, codes: ['0', '1'] }, 200, {}, false],
    [{ code: { jsonPointer: '/c' }, codes: ['0', '1'] }, 500, { c: 0 }, false],
    [{ code: { pattern: '^(\\d+);' }, codes: ['0'] }, 200, '0;x', true],
    [{ codes: ['201'] }, 201, '', true],
  ])('by %j: status %d with %j is taken: %s', async (config, status, body, accepted) => {
    expect((await read(config, body, status)).accepted).toBe(accepted);
  });

  it('of any bytes is read without a fault', async () => {
    const config = { messageId: { jsonPointer: '/a/0' }, code: { pattern: '(.)x' }, text: { jsonPointer: '/t' } };
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), fc.integer({ min: 100, max: 599 }), async (body, status) => {
        expect((await read(config, body, status)).accepted).toBe(status >= 200 && status <= 299);
      }),
    );
  });
});

describe('texts for a caller', () => {
  it('are one short line without control characters, and without secrets in any form', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        fc.string({ minLength: 8, maxLength: 20 }),
        (a, b, secret) => {
          for (const form of formsOf(secret)) {
            const words = printable(`${a}${form}${b}`, formsOf(secret)) ?? '';
            expect(words).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
            expect(words.isWellFormed()).toBe(true);
            expect(Array.from(words).length).toBeLessThanOrEqual(300);
            expect(words.includes(secret)).toBe(false);
          }
        },
      ),
    );
  });
});
