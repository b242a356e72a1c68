import type { Config } from '../../config/config.ts';
import { readCertificates } from '../config/tls-checks.ts';
import { good, warning, type Diagnosis } from './diagnosis.ts';

const dayMs = 24 * 60 * 60 * 1000;
const warnDays = 30;

interface End {
  readonly member: string;
  readonly file: string;
  /** Undefined if the file cannot be read. */
  readonly at: Date | undefined;
}

/**
 * Diagnoses the expiry of the configured certificates: those that expire soon and what to do about
 * them, or the first to expire. The configuration check reports those that cannot be read or have
 * expired; with one of them, the others are not called good.
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
  ].toSorted((one, other) => (one.at?.getTime() ?? 0) - (other.at?.getTime() ?? 0));
  const valid = ends.filter(({ at }) => at !== undefined && at.getTime() > now);
  const soon = valid.filter(({ at }) => at !== undefined && at.getTime() - now < warnDays * dayMs);
  const [first] = valid;
  if (soon.length === 0) {
    if (first === undefined || valid.length < ends.length) return [];
    return [good('certificates', `the first to expire is ${first.file}, on ${dayOf(first.at)}`)];
  }
  return soon.map(({ member, file, at }) =>
    warning('certificates', `${member}: ${file} expires on ${dayOf(at)}: replace it before then, and run signetctl reload`),
  );
}

/** Returns the ends of a file's certificates; one without a date if the file cannot be read. */
function endsOf(member: string, file: string): End[] {
  try {
    return readCertificates(file).map(({ validToDate }) => ({ member, file, at: validToDate }));
  } catch {
    return [{ member, file, at: undefined }];
  }
}

function dayOf(date: Date | undefined): string {
  return date?.toISOString().slice(0, 10) ?? '';
}
