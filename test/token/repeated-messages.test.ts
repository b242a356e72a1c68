import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RepeatedMessages } from '../../src/token/client/repeated-messages.ts';

const minuteMs = 60_000;
let said: string[];
let messages: RepeatedMessages;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  said = [];
  messages = new RepeatedMessages({ info: () => undefined, error: (message) => void said.push(message) });
});

afterEach(() => {
  vi.useRealTimers();
});

describe('messages of a token that is away', () => {
  it('are said once a minute, each by itself', () => {
    for (const message of ['one', 'one', 'other', 'one']) messages.error(message);
    expect(said).toEqual(['one', 'other']);
    vi.advanceTimersByTime(minuteMs - 1);
    messages.error('one');
    expect(said).toEqual(['one', 'other']);
    vi.advanceTimersByTime(1);
    for (const message of ['one', 'one', 'other']) messages.error(message);
    expect(said).toEqual(['one', 'other', 'one', 'other']);
  });

  it('keep their level and their fields', () => {
    const lines: unknown[] = [];
    const log = (level: string) => (message: string, fields?: object) => void lines.push([level, message, fields]);
    const told = new RepeatedMessages({ info: log('info'), warn: log('warn'), error: log('error') });
    for (const output of ['a', 'a', 'b']) told.say('error', 'printed', { output });
    told.say('warn', 'limited', { code: 1 });
    expect(lines).toEqual([
      ['error', 'printed', { output: 'a' }],
      ['error', 'printed', { output: 'b' }],
      ['warn', 'limited', { code: 1 }],
    ]);
    messages.say('warn', 'one');
    expect(said).toEqual(['one']);
  });

  it('are news again after a success', () => {
    messages.error('one');
    messages.forget();
    messages.error('one');
    expect(said).toEqual(['one', 'one']);
  });

  it('are remembered up to a hundred, and then from the beginning', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => `message ${index}`);
    for (const message of [...hundred, ...hundred]) messages.error(message);
    expect(said).toEqual(hundred);
    for (const message of ['another', 'another', 'message 0']) messages.error(message);
    expect(said.slice(100)).toEqual(['another', 'message 0']);
  });
});
