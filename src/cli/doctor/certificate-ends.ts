import { configuredCertificates } from '../../config/configured-certificates.ts';
import type { Config } from '../../config/config.ts';
import { isInLastFifth } from '../../x509/last-fifth.ts';
import { readCertificates } from '../config/tls-checks.ts';
import { good, warning, type Diagnosis } from './diagnosis.ts';

interface End {
  readonly member: string;
  readonly file: string;
  /** Undefined if the file cannot be read. */
  readonly validity: { readonly from: Date; readonly to: Date } | undefined;
}

/**
 * Diagnoses the expiry of the configured certificates: those in the last fifth of their lifetime
 * and what to do about them, or the first to expire. The configuration check reports those that
 * cannot be read or have expired; with one of them, the others are not called good.
 */
export function certificateEnds(config: Config, now = Date.now()): Diagnosis[] {
  const ends = configuredCertificates(config).flatMap(({ member, file }) => endsOf(member, file));
  const valid = ends
    .flatMap(({ member, file, validity }) => (validity === undefined ? [] : [{ member, file, ...validity }]))
    .filter(({ to }) => to.getTime() > now)
    .toSorted((one, other) => one.to.getTime() - other.to.getTime());
  const soon = valid.filter(({ from, to }) => isInLastFifth(from, to, now));
  const [first] = valid;
  if (soon.length === 0) {
    if (first === undefined || valid.length < ends.length) return [];
    return [good('certificates', `the first to expire is ${first.file}, on ${dayOf(first.to)}`)];
  }
  return soon.map(({ member, file, to }) =>
    warning('certificates', `${member}: ${file} expires on ${dayOf(to)}: replace it before then, and run signetctl reload`),
  );
}

/** Returns the ends of a file's certificates; one without dates if the file cannot be read. */
function endsOf(member: string, file: string): End[] {
  try {
    return readCertificates(file).map(({ validFromDate, validToDate }) => ({
      member,
      file,
      validity: { from: validFromDate, to: validToDate },
    }));
  } catch {
    return [{ member, file, validity: undefined }];
  }
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
