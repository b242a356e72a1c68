import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headersOf, readTraceparent, readTracestate, traceContext } from '../../src/telemetry/trace-context.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';
const digits = Array.from('0123456789abcdef');
const hexadecimal = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...digits), minLength: length, maxLength: length });
const notZero = (length: number): fc.Arbitrary<string> => hexadecimal(length).filter((text) => !/^0+$/.test(text));
const keyCharacters = Array.from('abcdefghijklmnopqrstuvwxyz0123456789_-*/');
const key = fc.string({ unit: fc.constantFrom(...keyCharacters), minLength: 0, maxLength: 20 }).map((rest) => `k${rest}`);
const value = fc.stringMatching(/^[\x21-\x2b\x2d-\x3c\x3e-\x7e]{1,20}$/);

describe('traceparent', () => {
  it('is taken as W3C Trace Context writes it', () => {
    fc.assert(
      fc.property(notZero(32), notZero(16), hexadecimal(2), (traceId, parentId, flags) => {
        const isSampled = Number.parseInt(flags, 16) % 2 === 1;
        expect(readTraceparent(`00-${traceId}-${parentId}-${flags}`)).toEqual({ traceId, parentId, isSampled });
      }),
    );
    expect(readTraceparent(`01-${trace}-${parent}-01-more`)?.traceId).toBe(trace);
  });

  it('is ignored in every other form', () => {
    for (const text of [
      '',
      `ff-${trace}-${parent}-01`,
      `00-${trace}-${parent}-01-more`,
      `00-${'0'.repeat(32)}-${parent}-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `00-${trace.toUpperCase()}-${parent}-01`,
      // As Node joins two headers.
      `00-${trace}-${parent}-01, 00-${trace}-${parent}-01`,
    ]) {
      expect(readTraceparent(text)).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(readTraceparent(text)).toBeUndefined();
      }),
    );
  });
});

describe('tracestate', () => {
  it('is passed on as it is, without empty members', () => {
    fc.assert(
      fc.property(fc.uniqueArray(key, { maxLength: 10 }), value, (keys, text) => {
        const members = keys.map((name) => `${name}=${text}`);
        expect(readTracestate(` ${members.join(' ,\t, ')} ,`)).toBe(members.join(','));
      }),
    );
    expect(readTracestate('fw529a3039@dt=FfAAAA;a b,0congo@t=ucfJifl5GOE')).toBe('fw529a3039@dt=FfAAAA;a b,0congo@t=ucfJifl5GOE');
  });

  it.each([
    ['without a value', 'a'],
    ['with an empty value', 'a='],
    ['with an empty key', '=b'],
    ['with a key in capitals', 'A=b'],
    ['with a key twice', 'a=1,b=2,a=3'],
    ['with a second equals sign', 'a=b=c'],
    ['with a control character', 'a=b\x01'],
    ['with a letter beyond ASCII', 'a=é'],
    ['with a key of 257 characters', `${'a'.repeat(257)}=b`],
    ['with a value of 257 characters', `a=${'b'.repeat(257)}`],
    ['with 33 members', Array.from({ length: 33 }, (_, index) => `k${index}=1`).join()],
  ])('%s is discarded', (_what, text) => {
    expect(readTracestate(text)).toBe('');
    expect(headersOf(traceContext({ traceparent: `00-${trace}-${parent}-01`, tracestate: text }))).not.toHaveProperty('tracestate');
  });

  it('that is too long loses its long members first, then the last ones', () => {
    const short = Array.from({ length: 6 }, (_, index) => `s${index}=${'x'.repeat(90)}`);
    const long = `l=${'y'.repeat(150)}`;
    expect(readTracestate([short[0], long, short[1]].join())).toBe([short[0], long, short[1]].join());
    expect(readTracestate([long, ...short].join())).toBe(short.slice(0, 5).join());
  });
});

describe('a request', () => {
  it('continues the trace of its caller with a span of its own, and only the flag "sampled"', () => {
    const context = traceContext({ traceparent: `00-${trace}-${parent}-ff`, tracestate: ['a=1', 'b=2'] });
    expect(context).toMatchObject({ traceId: trace, parentId: parent, isSampled: true, tracestate: 'a=1,b=2' });
    expect(context.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(context.spanId).not.toBe(parent);
    expect(headersOf(context)).toEqual({ traceparent: `00-${trace}-${context.spanId}-01`, tracestate: 'a=1,b=2' });
  });

  it('begins a new trace that is not sampled where the header is malformed, without its tracestate', () => {
    const context = traceContext({ traceparent: `00-${trace}`, tracestate: 'a=1' });
    expect(context.traceId).not.toBe(trace);
    expect(headersOf(context)).toEqual({ traceparent: `00-${context.traceId}-${context.spanId}-00` });
    expect(readTraceparent(headersOf(context)['traceparent'] ?? '')).toEqual({
      traceId: context.traceId,
      parentId: context.spanId,
      isSampled: false,
    });
  });
});
