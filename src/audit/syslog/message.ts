import type { LineHead } from '../line-offset.ts';

/** Severities of RFC 5424 §6.2.1. */
const alert = 1;
const warning = 4;
const notice = 5;
const maxSequence = 2_147_483_647;

export interface MessageOptions {
  /** Facility of RFC 5424 §6.2.1. */
  readonly facility: number;
  readonly hostname: string;
}

/**
 * Returns the syslog message of a record with its octet count (RFC 5424; RFC 5425 §4.3.1, RFC 6587
 * §3.4.1). The message is the exact line of the log, so that the chain can also be verified there.
 */
export function syslogMessage(line: Buffer, { n, time }: LineHead, { facility, hostname }: MessageOptions): Buffer {
  const text = line.toString('utf8');
  const kind = /"kind":"([a-z-]{1,32})"/.exec(text)?.[1] ?? '-';
  const sequence = ((n - 1) % maxSequence) + 1;
  const header = `<${facility * 8 + severityOf(text, kind)}>1 ${new Date(time).toISOString()} ${hostname} signetd - ${kind} [meta sequenceId="${sequence}"] `;
  const message = Buffer.concat([Buffer.from(header, 'latin1'), line]);
  return Buffer.concat([Buffer.from(`${message.length} `, 'latin1'), message]);
}

const refusals: ReadonlySet<string> = new Set(['refused-clients', 'wrong-secrets', 'outage']);

/**
 * Alert: rows of the state store were changed from outside. Warning: refused, failed, not recorded
 * for a while, or a gap in the log.
 */
function severityOf(text: string, kind: string): number {
  if (text.includes(',"tampered":"')) return alert;
  const isRefused = refusals.has(kind) || /,"major":[1-9]|,"status":\d|,"fault":"|,"gap":"/.test(text);
  return isRefused ? warning : notice;
}

/** Returns a host name as RFC 5424 §6.2.4 allows it. */
export function syslogHostname(name: string): string {
  const printable = name.replaceAll(/[^\x21-\x7e]/g, '').slice(0, 255);
  return printable === '' ? '-' : printable;
}
