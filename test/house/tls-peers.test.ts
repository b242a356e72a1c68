import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../../src/', import.meta.url).pathname;
/** What makes connections with TLS; types alone do not. */
const makesConnections =
  /^import (?!type ).*\b(?:connect|request|Agent|Server|createTransport)\b.* from '(?:node:tls|node:https|nodemailer)';$|\bssl:/m;
const bounds = /\bbound(?:edContext|Peers)\(/;
/** They connect to the service itself, or are what connects to the quickstart. */
const others = /^(?:quickstart|cli\/setup)\//;

test('every connection with TLS bounds the certificates of its peer', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts') && !others.test(path));
  const connecting = files.filter((path) => makesConnections.test(readFileSync(join(root, path), 'utf8'))).toSorted();
  expect(connecting).toEqual([
    'audit/syslog/connection.ts',
    'http/tls/guarded-server.ts',
    'messages/email-gateway.ts',
    'outgoing/exchange.ts',
    'outgoing/s3/signed-exchange.ts',
    'state/postgresql/client-options.ts',
  ]);
  for (const path of connecting) expect(readFileSync(join(root, path), 'utf8'), path).toMatch(bounds);
});
