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

/** When the certificates of the configuration end: the first of each member, and what to do about those that end soon. */
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
  ].toSorted((one, other) => one.at.getTime() - other.at.getTime());
  const soon = ends.filter(({ at }) => at.getTime() - now < warnDays * dayMs);
  const [first] = ends;
  if (soon.length === 0) {
    return [good('certificates', first === undefined ? 'none can be read' : `the first to end is ${first.file}, on ${dayOf(first.at)}`)];
  }
  return soon.map(({ member, file, at }) =>
    at.getTime() <= now
      ? fault('certificates', `${member}: ${file} ended on ${dayOf(at)}: put a new one there, then signetctl reload`)
      : warning('certificates', `${member}: ${file} ends on ${dayOf(at)}: put a new one there before, then signetctl reload`),
  );
}

/** What cannot be read is told by the check of the configuration. */
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
