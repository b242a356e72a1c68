import { setImmediate } from 'node:timers/promises';
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import type { RevokedColumns } from '../../state/repositories/crls.ts';
import { algorithmIdentifier, signedStructure, type CertificateSigner } from '../signed-certificate.ts';
import { authorityKeyIdentifier, extension } from '../standard-extensions.ts';
import { revokedEntries } from './revoked-entries.ts';

export interface CertificateListContent {
  /** From 1 on, ever larger. */
  readonly number: number;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  readonly revoked: RevokedColumns;
  /** Ended certificates stay on the list from this moment on (X.509 9.5.2.8). Absent: they do not. */
  readonly expiredFrom?: Date;
}

/**
 * A complete CRL of version 2 (RFC 5280 §5), signed, and verified under the signer's public key. It is written in slices, between which
 * other requests run. @throws {Error} when the signature does not verify.
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
    // RFC 5280 5.1.2.6: absent, not empty, where nothing is revoked.
    ...(entries.length === 0 ? [] : [der.sequence(...entries)]),
    der.explicit(0, der.sequence(...extensions.map((one) => one.der))),
  );
  return signedStructure(signer, tbs);
}
