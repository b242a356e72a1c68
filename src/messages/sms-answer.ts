import type { AnswerPart, SmsConfig } from '../config/sms-config.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { matchesOf } from './patterns.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * Response of the gateway, read according to the configuration. It is not trusted: texts are
 * unchanged.
 */
export interface SmsAnswer {
  readonly accepted: boolean;
  readonly code: string;
  readonly messageId: string | undefined;
  readonly text: string;
}

/** Reads a response. With `codes`, a response without a readable code is a refusal. */
export async function readSmsAnswer({ status, body }: HttpAnswer, config: SmsConfig['answer'], threads: WorkThreads): Promise<SmsAnswer> {
  const json = parsed(body);
  const patterns = [config.code, config.messageId, config.text].flatMap((part) => (part?.pattern === undefined ? [] : [part.pattern]));
  const matches = await matchesOf(patterns, body, threads);
  const read = (part: AnswerPart): string | undefined => readPart(part, matches, json);
  const code = read(config.code);
  const rightStatus = config.statuses === undefined ? status >= 200 && status <= 299 : config.statuses.includes(status);
  const rightCode = config.codes === undefined || config.codes.includes(config.code === undefined ? String(status) : (code ?? ''));
  return {
    accepted: rightStatus && rightCode,
    code: code ?? String(status),
    messageId: read(config.messageId),
    text: config.text === undefined ? body : (read(config.text) ?? ''),
  };
}

function readPart(part: AnswerPart, matches: ReadonlyMap<string, string | undefined>, json: unknown): string | undefined {
  if (part === undefined) return undefined;
  const { pattern, jsonPointer } = part;
  if (pattern !== undefined) return matches.get(pattern);
  const value = jsonPointer === undefined ? undefined : pointed(json, jsonPointer);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** Evaluates a JSON Pointer (RFC 6901 §4); undefined if there is no such value. */
function pointed(json: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, token) => {
      if (Array.isArray(value)) return /^(?:0|[1-9]\d{0,8})$/.test(token) ? value[Number(token)] : undefined;
      if (typeof value !== 'object' || value === null) return undefined;
      return Object.entries(value).find(([name]) => name === token)?.[1];
    }, json);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
