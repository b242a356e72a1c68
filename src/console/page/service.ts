import type { End, Limits, Service } from './answers.ts';
import { card, chip, element, facts, nothing, table, type Child } from './element.ts';
import { counted, duration, moment, number } from './wording.ts';

const day = 86_400;
/** What signetd renews by itself, and from how many seconds on the rest is to be renewed. */
const renewal: Readonly<Record<End['what'], number | 'automatic'>> = {
  'API certificate': 30 * day,
  'client CRL': day / 4,
  'CA certificate': 90 * day,
  CRL: 'automatic',
  'OCSP responder': 'automatic',
  'time-stamp authority': 30 * day,
};

/** The cards of the running service. @param nowMs milliseconds since epoch */
export function serviceCards(service: Service, nowMs: number): HTMLElement[] {
  return [tokenCard(service), serviceCard(service), endsCard(service.ends, nowMs), limitsCard(service.limits), sessionsCard(service)];
}

function tokenCard({ token }: Service): HTMLElement {
  const pool = Object.entries(token.pool).map(([type, keys]) => `${type}: ${number(keys)}`);
  const kept = token.keysLeft.map(({ tokenId, reason }) =>
    element('li', { class: 'warn' }, element('code', {}, tokenId), ` should have been destroyed: ${reason}`),
  );
  return card(
    'Token',
    facts([
      ['State', token.isReady ? chip('connected', 'good') : chip('not connected', 'bad')],
      ['Label', token.label],
      ['Profile', token.profile],
      ['Queue', `${counted(token.waiting, 'request')} waiting, at most ${number(token.waitingMax)}`],
      ['Threads', number(token.threads)],
      ['Keys made in advance', pool.length === 0 ? 'none' : pool.join(', ')],
    ]),
    ...(kept.length === 0 ? [] : [element('ul', { class: 'reasons' }, ...kept)]),
  );
}

function serviceCard({ audit, lastReload, notLoaded, ...service }: Service): HTMLElement {
  const reload =
    lastReload === null
      ? ['none since the start']
      : [moment(lastReload.at), lastReload.faults.length === 0 ? ' successful' : ` refused: ${lastReload.faults.join('; ')}`];
  const log = !audit.enabled
    ? [chip('switched off', 'warn')]
    : !audit.writable
      ? [chip('not writable', 'bad')]
      : [
          audit.lastCheckpoint === null ? 'no checkpoint yet' : 'checkpoint ',
          ...(audit.lastCheckpoint === null ? [] : [moment(audit.lastCheckpoint)]),
          `, ${counted(audit.recordsSinceCheckpoint, 'record')} since`,
        ];
  const rows: [string, Child | readonly Child[]][] = [
    ['API', service.api],
    ['Process', String(service.pid)],
    ['State store', service.state],
    ['Audit log', log],
    ['Last reload', reload],
    ['Clients', number(service.clients)],
    ['Tenants', service.tenants.join(', ') || 'none'],
  ];
  if (notLoaded.length > 0) rows.push(['Changed in the file, not loaded', notLoaded.join(', ')]);
  return card('Service', facts(rows));
}

function endsCard(ends: readonly End[], nowMs: number): HTMLElement {
  const rows = ends.map(({ what, name, at }) => [what, name === '' ? '–' : name, moment(at), left(what, (Date.parse(at) - nowMs) / 1000)]);
  return wide(
    card(
      'Ends of certificates and CRLs',
      ends.length === 0
        ? nothing('No certificate is in use.')
        : table('Ends of certificates and CRLs', ['What', 'Name', 'Ends (UTC)', 'Left'], rows),
    ),
  );
}

function left(what: End['what'], seconds: number): HTMLElement {
  const renewed = renewal[what];
  if (seconds <= 0) return element('span', {}, chip('expired', 'bad'), ` ${duration(-seconds)} ago`);
  const text = duration(seconds);
  if (renewed === 'automatic') return element('span', {}, text, element('span', { class: 'quiet' }, ' · renewed automatically'));
  return seconds < renewed ? element('span', {}, text, ' ', chip('renew', 'warn')) : element('span', {}, text);
}

function limitsCard(limits: readonly Limits[]): HTMLElement {
  const title = 'Limits of tenants and clients';
  const count = (value: number | null): string => (value === null ? 'none' : number(value));
  const rows = limits.map(({ tenant, client, requestsPerSecond, requestsBurst, requestsMax, connectionsMax }) => [
    tenant,
    client === null ? 'all together' : client === '' ? 'each other client' : client,
    count(requestsPerSecond),
    count(requestsBurst),
    number(requestsMax),
    number(connectionsMax),
  ]);
  return wide(card(title, table(title, ['Tenant', 'Client', 'Requests/s', 'Burst', 'At a time', 'Connections'], rows)));
}

function sessionsCard({ sessions }: Service): HTMLElement {
  const title = 'Open sessions of two-step signatures';
  if (sessions === null) return wide(card(title, nothing('The state store does not answer.')));
  if (sessions.length === 0) return wide(card(title, nothing('No session is open: every remotePreSign was completed or has expired.')));
  const rows = sessions.map(({ tenant, count, oldestAgeSeconds, lastEnds }) => [
    tenant,
    number(count),
    duration(oldestAgeSeconds),
    moment(lastEnds),
  ]);
  return wide(card(title, table(title, ['Tenant', 'Open', 'Oldest', 'Last ends (UTC)'], rows)));
}

function wide(made: HTMLElement): HTMLElement {
  made.classList.add('wide');
  return made;
}
