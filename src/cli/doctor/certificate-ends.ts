import { existsSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { readCertificates } from '../config/tls-checks.ts';
import { fault, good, warning, type Diagnosis } from './diagnosis.ts';

const dayMs = 24 * 60 * 60 * 1000;
const warnDays = 30;

interface End {
  readonly member: string;
  readonly file: string;
  readonly at: Date;
}

/**
 * Diagnoses the expiry of the configured certificates: the first to expire, or those that expire
 * soon and what to do about them.
 */
export function certificateEnds(config: Config, now = Date.now()): Diagnosis[] {
  const { api } = config.listeners;
  const { timeStampAuthority } = config;
  const ends = [
    ...endsOf('listeners.api.certificate', api.certificate),
    ...endsOf('listeners.api.clientCertificateAuthority', api.clientCertificateAuthority),
    ...Object.entries(config.certificateAuthorities).flatMap(([name, { certificate, chain }]) =>
      [certificate, ...chain].flatMap((file) => endsOf(`certificateAuthorities.${name}`, file)),
    ),
    ...(timeStampAuthority === undefined
      ? []
      : [timeStampAuthority.certificate, ...timeStampAuthority.chain].flatMap((file) => endsOf('timeStampAuthority', file))),
    ...Object.entries(config.tenants).flatMap(([name, { twoDDoc }]) =>
      twoDDoc.identities.flatMap(({ certificate }, index) => endsOf(`tenants.${name}.twoDDoc.identities.${index}`, certificate)),
    ),
  ].toSorted((one, other) => one.at.getTime() - other.at.getTime());
  const soon = ends.filter(({ at }) => at.getTime() - now < warnDays * dayMs);
  const [first] = ends;
  if (soon.length === 0) {
    return [good('certificates', first === undefined ? 'none can be read' : `the first to expire is ${first.file}, on ${dayOf(first.at)}`)];
  }
  return soon.map(({ member, file, at }) =>
    at.getTime() <= now
      ? fault('certificates', `${member}: ${file} expired on ${dayOf(at)}: replace it, then run signetctl reload`)
      : warning('certificates', `${member}: ${file} expires on ${dayOf(at)}: replace it before then, and run signetctl reload`),
  );
}

/**
 * Returns the ends of a file's certificates; the configuration check reports files that cannot be
 * read.
 */
function endsOf(member: string, file: string): End[] {
  if (!existsSync(file)) return [];
  try {
    return readCertificates(file).map(({ validToDate }) => ({ member, file, at: validToDate }));
  } catch {
    return [];
  }
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
