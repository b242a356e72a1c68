import type { Request, Response } from 'express';
import { z } from 'zod';
import { Problem } from '../http/problem.ts';
import { keyStates } from '../keys/states.ts';
import { outcomeFilter, type RecordFilter } from '../audit/record-filter.ts';
import type { KeyQuery } from './key-search.ts';
import type { Credentials } from './sign-ins.ts';

const Secret = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const Fingerprint = z.string().regex(/^[0-9a-f]{40}$/);

const KeysQuery = z.object({
  text: z.string().max(256).default(''),
  tenant: z.string().min(1).max(64).optional(),
  state: z.enum(keyStates).optional(),
  after: Fingerprint.optional(),
});

/** @throws {Problem} 400 */
export function keyQueryOf(request: Request): KeyQuery {
  const { text, ...where } = parsed(KeysQuery, request.query, 'the search is not valid');
  return { text, tenant: where.tenant, state: where.state, after: where.after };
}

const Time = z.iso
  .datetime()
  .transform((text) => Date.parse(text))
  .optional();
const Text = z.string().min(1).max(256).optional();
const AuditQuery = z.object({
  ...{ client: Text, tenant: Text, key: Text, request: Text, since: Time, until: Time },
  outcome: z.string().optional(),
  before: z.coerce.number().int().positive().optional(),
});

/**
 * Returns what to search the audit log for, and the record before which to begin; undefined if the
 * request names nothing.
 * @throws {Problem} 400
 */
export function auditQueryOf(request: Request): (RecordFilter & { readonly before: number | undefined }) | undefined {
  if (Object.keys(request.query).length === 0) return undefined;
  const { outcome: text, before, ...rest } = parsed(AuditQuery, request.query, 'the search is not valid');
  const outcome = text === undefined ? undefined : outcomeFilter(text);
  if (text !== undefined && outcome === undefined) throw new Problem(400, 'the outcome is success, refused, a result or a status');
  return { ...rest, outcome, before };
}

/** @throws {Problem} 404 */
export function referenceOf(request: Request): string {
  const { data } = Fingerprint.safeParse(request.params['reference']);
  if (data === undefined) throw new Problem(404, 'there is no such key');
  return data;
}

/** Returns the moment in `after`, milliseconds since epoch; 0 without one. */
export function momentOf(request: Request): number {
  return parsed(z.object({ after: z.coerce.number().min(0).default(0) }), request.query, 'after is not a time').after;
}

/** Returns the code of a sign-in. */
export function codeOf(request: Request): string {
  return Secret.safeParse(request.get('X-Console-Code')).data ?? '';
}

/**
 * Returns the name of the cookie. Browsers send cookies to all ports of a host: consoles of several
 * services, with their ports forwarded to one machine, each need their own.
 */
function cookieNameOf(request: Request): string {
  return `signetd_console_${/:(\d{1,5})$/.exec(request.headers.host ?? '')?.[1] ?? '80'}`;
}

/** Returns what the request says about who is signed in. */
export function credentialsOf(request: Request): Credentials {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  const session = pairs.find(([name]) => name === cookieNameOf(request))?.[1];
  return { session: Secret.safeParse(session).data ?? '', token: Secret.safeParse(request.get('X-Console-Token')).data ?? '' };
}

/** `session`: empty to remove the cookie. */
export function setCookie(request: Request, response: Response, session: string): void {
  const attributes = ['Path=/console', 'HttpOnly', 'SameSite=Strict', ...(session === '' ? ['Max-Age=0'] : [])];
  response.setHeader('Set-Cookie', [`${cookieNameOf(request)}=${session}`, ...attributes].join('; '));
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, fault: string): T {
  const result = schema.safeParse(value);
  if (!result.success) throw new Problem(400, fault);
  return result.data;
}
