import { randomBytes } from 'node:crypto';

/** Members that a caller may send (W3C Trace Context §3.3.1.1); a list with more is discarded. */
const membersMax = 32;
/** What is passed on at least (§3.3.1.5); of a longer list, long members are left out first. */
const passedOnCharacters = 512;
const longMemberCharacters = 128;
const key = /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})$/;
const value = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const sampledBit = 1;

/** What a caller says of its trace. */
export interface ReceivedTrace {
  readonly traceId: string;
  /** The caller's span. */
  readonly parentId: string;
  readonly isSampled: boolean;
}

/** The place of one request in a trace: the caller's, or a new one. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** The request's own span: 16 hexadecimal digits. */
  readonly spanId: string;
  /** The caller's span. */
  readonly parentId: string | undefined;
  readonly isSampled: boolean;
  /** Validated and within the limits; empty if there is none. */
  readonly tracestate: string;
}

/** The headers that carry a trace, as Node gives them. */
export interface TraceHeaders {
  readonly traceparent?: string | readonly string[] | undefined;
  readonly tracestate?: string | readonly string[] | undefined;
}

/**
 * Returns the place of a request in its caller's trace. Without a valid `traceparent` it begins a
 * new trace, which is not sampled, and `tracestate` is ignored (W3C Trace Context §3.4, §4.3).
 */
export function traceContext({ traceparent, tracestate }: TraceHeaders): TraceContext {
  const spanId = identifier(8);
  const received = typeof traceparent === 'string' ? readTraceparent(traceparent) : undefined;
  if (received === undefined) return { traceId: identifier(16), spanId, parentId: undefined, isSampled: false, tracestate: '' };
  const states = typeof tracestate === 'object' ? tracestate.join(',') : (tracestate ?? '');
  return { ...received, spanId, tracestate: readTracestate(states) };
}

/** Returns the headers of a request to another server, whose caller is this request. */
export function headersOf({ traceId, spanId, isSampled, tracestate }: TraceContext): Readonly<Record<string, string>> {
  // Flags that version 00 does not define are zero (§3.2.2.5.2).
  const traceparent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
  return tracestate === '' ? { traceparent } : { traceparent, tracestate };
}

/**
 * Reads `traceparent` (W3C Trace Context §3.2.2). Later versions may have more members at the end.
 * Returns undefined for a malformed header, which the standard requires to be ignored.
 */
export function readTraceparent(text: string): ReceivedTrace | undefined {
  const [, version, traceId, parentId, flags = '', more] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text) ?? [];
  const isKnown = version !== undefined && version !== 'ff' && (version !== '00' || more === undefined);
  if (!isKnown || traceId === undefined || parentId === undefined || /^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  return { traceId, parentId, isSampled: (Number.parseInt(flags, 16) & sampledBit) !== 0 };
}

/**
 * Reads `tracestate` (§3.3.1). Returns what may be passed on: all of a valid list that is not too
 * long, nothing of an invalid one.
 */
export function readTracestate(text: string): string {
  const members = text
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '');
  const keys = members.map((member) => member.slice(0, Math.max(0, member.indexOf('='))));
  const isValid =
    members.length <= membersMax &&
    new Set(keys).size === keys.length &&
    members.every((member, index) => key.test(keys[index] ?? '') && value.test(member.slice((keys[index] ?? '').length + 1)));
  return isValid ? shortened(members).join(',') : '';
}

function shortened(members: readonly string[]): readonly string[] {
  const fits = (list: readonly string[]): boolean => list.join(',').length <= passedOnCharacters;
  const kept = [...members];
  while (!fits(kept)) {
    const long = kept.findLastIndex((member) => member.length > longMemberCharacters);
    kept.splice(long === -1 ? kept.length - 1 : long, 1);
  }
  return kept;
}

/** Returns a random identifier that is not all zeros, in hexadecimal. */
function identifier(bytes: number): string {
  for (;;) {
    const text = randomBytes(bytes).toString('hex');
    if (!/^0+$/.test(text)) return text;
  }
}
