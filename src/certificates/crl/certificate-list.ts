import { setImmediate } from 'node:timers/promises';
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import type { RevokedColumns } from '../../state/repositories/crls.ts';
import { algorithmIdentifier, signedStructure, type CertificateSigner } from '../signed-certificate.ts';
import { authorityKeyIdentifier, extension } from '../standard-extensions.ts';
import { revokedEntries } from './revoked-entries.ts';

export interface CertificateListContent {
  /** CRL number: starts at 1 and only grows. */
  readonly number: number;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  readonly revoked: RevokedColumns;
  /**
   * Expired certificates stay on the list from this time on (X.509 9.5.2.8). Absent: they do not.
   */
  readonly expiredFrom?: Date;
}

/**
 * Creates a complete version 2 CRL (RFC 5280 §5), signs it and verifies the signature. The entries
 * are encoded in slices, so that other requests can run in between.
 * @throws {Error} if the signature does not verify
 */
export async function certificateList(
  signer: CertificateSigner & { readonly subjectKeyIdentifier?: Uint8Array | undefined },
  { number, thisUpdate, nextUpdate, revoked, expiredFrom }: CertificateListContent,
): Promise<Uint8Array> {
  const entries: Uint8Array[] = [];
  for (const slice of revokedEntries(revoked, thisUpdate)) {
    entries.push(slice);
    await setImmediate();
  }
  const { name, signatureAlgorithm, subjectPublicKeyInfo, subjectKeyIdentifier } = signer;
  const extensions = [
    authorityKeyIdentifier({ subjectPublicKeyInfo, subjectKeyIdentifier }),
    extension(oids.crlNumber, der.integer(number)),
    ...(expiredFrom === undefined ? [] : [extension(oids.expiredCertsOnCrl, der.generalizedTime(expiredFrom))]),
  ];
  const tbs = der.sequence(
    der.integer(1),
    algorithmIdentifier(signatureAlgorithm),
    name,
    der.time(thisUpdate),
    der.time(nextUpdate),
    // RFC 5280 5.1.2.6: absent, not empty, if nothing is revoked.
    ...(entries.length === 0 ? [] : [der.sequence(...entries)]),
    der.explicit(0, der.sequence(...extensions.map((one) => one.der))),
  );
  return signedStructure(signer, tbs);
}
