import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { canDecrypt, decryptedCredential } from '../../config/encrypted-credential.ts';
import { daemonsCredential } from '../../config/listeners-config.ts';
import type { Config } from '../../config/config.ts';
import { readClientLists } from '../../http/tls/material.ts';
import type { Findings, Place } from './findings.ts';

const dayMs = 24 * 60 * 60 * 1000;
const warnDays = 30;
/** Begins the date in the note on a certificate that is about to expire. */
export const expiresSoon = 'the certificate expires on';

/**
 * Checks that the server's certificate parses, is currently valid, and matches the configured key.
 */
export function checkServerCertificate(findings: Findings, files: { readonly certificate: string; readonly key: string }): void {
  const place = findings.at('listeners.api.certificate');
  const [certificate] = place.tryTo(() => readCertificates(files.certificate)) ?? [];
  if (certificate !== undefined) checkValidity(place, files.certificate, certificate);
  const keyPlace = findings.at('listeners.api.key');
  const pem = keyPlace.tryTo(() => readKey(files.key));
  if (pem === undefined) return;
  try {
    const key = createPrivateKey(pem);
    if (certificate?.checkPrivateKey(key) === false)
      keyPlace.fault(`${files.key}: this is not the key of ${files.certificate}: install the key that belongs to it, or replace both`);
  } catch {
    keyPlace.fault(`${files.key}: this is not a PEM private key without a passphrase: replace it`);
  }
}

/** Reads the key; that of a daemon that is not running is decrypted from systemd's store. */
function readKey(path: string): Buffer {
  const name = hiddenCredential(path);
  return name === undefined ? readFileSync(path) : decryptedCredential(`credential:${name}`, name);
}

/**
 * Returns the name of the credential at a path that exists only while the daemon's unit runs, if it
 * can be decrypted now.
 */
function hiddenCredential(path: string): string | undefined {
  const name = existsSync(path) ? undefined : daemonsCredential(path);
  return name !== undefined && canDecrypt(name) ? name : undefined;
}

/** Checks that every certificate in the file is a CA certificate and currently valid. */
export function checkClientAuthority(findings: Findings, file: string): void {
  const place = findings.at('listeners.api.clientCertificateAuthority');
  for (const certificate of place.tryTo(() => readCertificates(file)) ?? []) {
    if (!certificate.ca) place.fault(`${file}: ${subjectOf(certificate)} is not a certificate authority: remove it from the file`);
    checkValidity(place, file, certificate);
  }
}

/**
 * Checks that the CRLs can be read as by the daemon, that each CA has one, and that they are
 * current, if nothing else is wrong with the files. Without CRLs, there is a note, unless signetd's
 * own CA (`own`, a file) issues every client certificate: signetctl client revoke withdraws those at
 * once. CRLs at URLs are fetched only by the service.
 */
export function checkRevocationLists(findings: Findings, api: Config['listeners']['api'], own: string | undefined): void {
  const place = findings.at('listeners.api.clientRevocationLists');
  if (api.clientRevocationLists.length === 0) {
    if (api.clientRevocationUrls.length === 0 && !hasNoCaBut(own, api.clientCertificateAuthority))
      place.note('it is empty: client certificates are not checked for revocation; signetctl client revoke keeps a client out');
  } else if (findings.faults.length === 0) {
    for (const { authority, nextUpdate } of place.tryTo(() => readClientLists(api)) ?? []) {
      const name = `the CRL of ${subjectOf(authority)}`;
      if (nextUpdate.getTime() <= Date.now())
        place.fault(
          `${name} expired on ${nextUpdate.toISOString()}: its clients are refused until you install a new one and run signetctl reload`,
        );
    }
  }
}

function hasNoCaBut(own: string | undefined, file: string): boolean {
  if (own === undefined) return false;
  try {
    const [authority] = readCertificates(own);
    return authority !== undefined && readCertificates(file).every(({ raw }) => raw.equals(authority.raw));
  } catch {
    return false;
  }
}

/**
 * Returns the certificates of a PEM file.
 * @throws {Error} if there are none, or one does not parse
 */
export function readCertificates(file: string): X509Certificate[] {
  const text = readFileSync(file, 'latin1');
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (blocks === null) throw new Error(`${file}: this file has no PEM certificate: replace it`);
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new Error(`${file}: certificate ${index + 1} cannot be parsed: replace the file`);
    }
  });
}

export function checkValidity(place: Place, file: string, { validFromDate, validToDate }: X509Certificate): void {
  const now = Date.now();
  if (validToDate.getTime() <= now)
    place.fault(`${file}: the certificate expired on ${validToDate.toISOString()}: replace it, then run signetctl reload`);
  else if (validFromDate.getTime() > now)
    place.fault(`${file}: the certificate is not valid before ${validFromDate.toISOString()}: check the clock, or replace it`);
  else if (validToDate.getTime() - now < warnDays * dayMs) place.note(`${file}: ${expiresSoon} ${validToDate.toISOString()}`);
}

function subjectOf({ subject }: X509Certificate): string {
  return subject.replaceAll('\n', ', ');
}
