import { issuersOf, signerCertificate, type SignerKeyType } from '../../certificates/signer-certificate.ts';
import { Refusal } from '../../result-codes.ts';
import type { SignerChain } from '../../signatures/format.ts';
import type { Context } from '../operation.ts';

/** A signer whose key is not on the token. */
export interface ExternalSigner {
  readonly key: { readonly type: SignerKeyType };
  readonly chain: SignerChain;
}

/**
 * Returns the signer for a certificate from any CA. Its chain is built from the certificates in the
 * request and those of the tenant's own CA; others are ignored.
 * @throws {Refusal} UNSUPPORTED for an unsupported key
 */
export function externalSigner(
  { certificate: der, chain, trustedCa }: { certificate: Uint8Array; chain: readonly Uint8Array[]; trustedCa: string | undefined },
  { caller, config, authorities }: Pick<Context, 'caller' | 'config' | 'authorities'>,
): ExternalSigner {
  const signer = signerCertificate(der);
  if (signer === undefined) {
    throw new Refusal('UNSUPPORTED', {
      at: '/signerCertificate',
      message:
        'unsupported key type; supported: RSA of 2048 to 8192 bits with an odd public exponent from 65537 to 2^256, P-256, P-384, P-521',
    });
  }
  const own = authorities.get(config.tenants[caller.tenant]?.certificateAuthority ?? '');
  const known = [...chain, ...(own?.chain ?? []), ...(own?.otherChains ?? []).flat()];
  const { certificate, publicKey, keyType } = signer;
  return { key: { type: keyType }, chain: { certificate, publicKey, issuers: issuersOf(der, known, trustedCa) } };
}

/** Checks the validity period. @throws {Refusal} CERTIFICATE_STATUS_REFUSED */
export function checkValidNow({ chain: { certificate } }: ExternalSigner, now: Date): void {
  const { notBefore, notAfter } = certificate;
  if (now < notBefore) throw notValid(`is not valid before ${notBefore.toISOString()}`);
  if (now > notAfter) throw notValid(`expired at ${notAfter.toISOString()}`);
}

function notValid(why: string): Refusal {
  return new Refusal('CERTIFICATE_STATUS_REFUSED', { at: '/signerCertificate', message: `the certificate ${why}` });
}
