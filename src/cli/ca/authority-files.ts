import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { pem } from '../../x509/pem.ts';
import type { PublicationUrls } from '../../config/profile.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { errorCode } from '../../telemetry/error-code.ts';

/** An authority's section of the configuration. */
export interface AuthorityEntry {
  readonly certificate: string;
  readonly chain: readonly string[];
  readonly keyId: string;
  readonly urls?: PublicationUrls;
}

/**
 * Writes a new PEM file of one or several objects, which every user can read as the service has to, and returns its path.
 * @throws {CommandError} if it exists or cannot be written
 */
export function writeNew(
  directory: string,
  file: string,
  label: 'CERTIFICATE' | 'CERTIFICATE REQUEST' | 'X509 CRL',
  ...ders: readonly Uint8Array[]
): string {
  const path = join(resolve(directory), file);
  // That of signetctl is for secrets.
  const umask = process.umask(0o022);
  try {
    mkdirSync(resolve(directory), { recursive: true });
    writeFileSync(path, ders.map((der) => pem(label, der)).join(''), { flag: 'wx', mode: 0o644 });
    return path;
  } catch (error) {
    const isThere = errorCode(error) === 'EEXIST';
    const why = reasonOf(error);
    throw new CommandError(
      exitCodes.refused,
      isThere ? `${path} already exists and will not be overwritten: choose another file or directory` : why,
    );
  } finally {
    process.umask(umask);
  }
}

/** Returns the URLs at which an authority publishes, below the address of the public listener. */
export function publishedUrls(publicUrl: string | undefined, name: string): { urls?: PublicationUrls } {
  if (publicUrl === undefined) return {};
  const base = publicUrl.replace(/\/$/, '');
  return { urls: { crl: [`${base}/pki/${name}.crl`], ocsp: [`${base}/ocsp/${name}`], caIssuers: [`${base}/pki/${name}.cer`] } };
}

/** Outcome with the section to add to the configuration. */
export function configurationOutcome(authorities: Readonly<Record<string, AuthorityEntry>>, done: string): Outcome {
  return {
    json: { certificateAuthorities: authorities },
    text: `${done}\nAdd this to the configuration:\n\n${stringify({ certificateAuthorities: authorities })}`,
  };
}

/** What to set in the configuration, in words and YAML. */
export function sectionText(certificateAuthorities: object): string {
  return `\nSet this in the configuration:\n\n${stringify({ certificateAuthorities })}`;
}
