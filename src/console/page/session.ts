import type { SignedIn } from './answers.ts';

/** In the memory of this tab: other ports of the host, and other sites, cannot read it. */
const tokenName = 'signetd-console-token';

/** Nobody is signed in, or no longer. */
export class NotSignedIn extends Error {}

/** The service refused, or cannot be reached. */
export class Failure extends Error {}

interface Options {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Asks the service; `path` is relative to `/console/api/`.
 * @throws {NotSignedIn} @throws {Failure} in words for the operator
 */
export async function ask<T>(path: string, { method = 'GET', headers = {} }: Options = {}): Promise<T> {
  const token = sessionStorage.getItem(tokenName);
  const own = token === null ? {} : { 'X-Console-Token': token };
  let response: Response;
  try {
    response = await fetch(`api/${path}`, { method, headers: { ...own, ...headers }, cache: 'no-store' });
  } catch {
    throw new Failure('signetd does not answer. It may be restarting.');
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok) return body as T;
  const detail = isProblem(body) ? body.detail : `status ${response.status}`;
  if (response.status !== 401) throw new Failure(sentence(detail));
  sessionStorage.removeItem(tokenName);
  throw new NotSignedIn(sentence(detail));
}

/** True if this tab has signed in; the service may have forgotten it. */
export function isSignedIn(): boolean {
  return sessionStorage.getItem(tokenName) !== null;
}

/** Signs in with the code of a link. @throws as `ask` */
export async function signIn(code: string): Promise<void> {
  const { token } = await ask<SignedIn>('sign-in', { method: 'POST', headers: { 'X-Console-Code': code } });
  sessionStorage.setItem(tokenName, token);
}

export async function signOut(): Promise<void> {
  try {
    await ask('sign-out', { method: 'POST' });
  } finally {
    sessionStorage.removeItem(tokenName);
  }
}

function isProblem(body: unknown): body is { readonly detail: string } {
  return typeof body === 'object' && body !== null && 'detail' in body && typeof body.detail === 'string';
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}
