import { appendFileSync, copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where the suite keeps the logs of all services that it runs, and the secrets that it tells them. Set before any test file runs. */
const variable = 'SIGNETD_TEST_LOGS';
/** Members of requests and answers that no log may have. */
const secretMembers = new Set(['password', 'authToken', 'plainValue', 'base64Value', 'token', 'PIN', 'OTP', 'SAD']);
/** Shorter ones are words that a log may well use. */
const minCharacters = 12;
/** Neither is the name of an algorithm one, which changed requests have in every member. */
const objectIdentifier = /^[0-2](\.\d+)+$/;

export function startCollecting(): void {
  process.env[variable] = mkdtempSync(join(tmpdir(), 'signetd-suite-logs-'));
}

/** A file for the log of one service. */
export function logFile(): string {
  // Programs outside of the suite collect nothing.
  if (process.env[variable] === undefined) return '/dev/null';
  return join(directory(), `${randomUUID()}.log`);
}

export function collectLog(path: string): void {
  if (process.env[variable] !== undefined && existsSync(path)) copyFileSync(path, logFile());
}

/** Remembers the secrets in a request or an answer: JSON, as it was sent. What is no JSON has none. */
export function rememberSecrets(json: string | Buffer | undefined): void {
  let value: unknown;
  try {
    value = JSON.parse(json?.toString() ?? '');
  } catch {
    return;
  }
  const secrets = secretsIn(value).filter(
    (secret) => secret.length >= minCharacters && secret.length < 10_000 && !objectIdentifier.test(secret),
  );
  if (secrets.length === 0) return;
  appendFileSync(join(directory(), `${process.pid}.secrets`), secrets.map((secret) => `${JSON.stringify(secret)}\n`).join(''));
}

/** Removes what was collected. @throws {Error} where a log has a secret, or nothing was collected at all */
export function finishCollecting(): void {
  const files = readdirSync(directory()).map((name) => ({ name, text: readFileSync(join(directory(), name), 'utf8') }));
  rmSync(directory(), { recursive: true, force: true });
  const logs = files.filter(({ name }) => name.endsWith('.log'));
  const secrets = new Set(
    files
      .filter(({ name }) => name.endsWith('.secrets'))
      .flatMap(({ text }) => text.split('\n').filter(Boolean))
      .map((line) => String(JSON.parse(line))),
  );
  if (!logs.some(({ text }) => text.includes('"message"'))) throw new Error('no service of the suite wrote a log');
  for (const { text } of logs) {
    for (const line of text.split('\n')) {
      const leaked = [...secrets].find((secret) => line.includes(secret));
      if (leaked !== undefined) throw new Error(`a log has the secret ${JSON.stringify(leaked)}: ${line}`);
    }
  }
}

function secretsIn(value: unknown, member = ''): string[] {
  if (typeof value === 'string') return secretMembers.has(member) ? [value, ...decoded(member, value)] : [];
  if (Array.isArray(value)) return value.flatMap((one) => secretsIn(one, member));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => secretsIn(one, name));
}

/** A document is recognised as text, too. */
function decoded(member: string, value: string): string[] {
  if (member !== 'base64Value') return [];
  const text = Buffer.from(value, 'base64').toString('utf8');
  return text.includes('\n') || text.includes('\uFFFD') ? [] : [text];
}

function directory(): string {
  const path = process.env[variable];
  if (path === undefined) throw new Error('startCollecting comes first');
  return path;
}
