import { issuersOf, signerCertificate, type SignerKeyType } from '../../certificates/signer-certificate.ts';
import { Refusal } from '../../result-codes.ts';
import type { SignerChain } from '../../signatures/format.ts';
import type { Context } from '../operation.ts';

/** A signer whose key is elsewhere. */
export interface ExternalSigner {
  readonly key: { readonly type: SignerKeyType };
  readonly chain: SignerChain;
}

/**
 * The signer of a certificate from any CA. Its chain is found in what the request gives and in what is known of the tenant's own CA; certificates that have
 * no place in it are left out. @throws {Refusal} UNSUPPORTED for a key that no signature is made with here
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
        'the key of this certificate is of no type that is offered: RSA of 2048 to 8192 bits with an odd public exponent from 65537 to 2^256, P-256, P-384, P-521',
    });
  }
  const own = authorities.get(config.tenants[caller.tenant]?.certificateAuthority ?? '');
  const known = [...chain, ...(own?.chain ?? []), ...(own?.otherChains ?? []).flat()];
  const { certificate, publicKey, keyType } = signer;
  return { key: { type: keyType }, chain: { certificate, publicKey, issuers: issuersOf(der, known, trustedCa) } };
}

/** @throws {Refusal} CERTIFICATE_STATUS_REFUSED */
export function checkValidNow({ chain: { certificate } }: ExternalSigner, now: Date): void {
  const { notBefore, notAfter } = certificate;
  if (now < notBefore) throw notValid(`is not valid before ${notBefore.toISOString()}`);
  if (now > notAfter) throw notValid(`ended at ${notAfter.toISOString()}`);
}

function notValid(why: string): Refusal {
  return new Refusal('CERTIFICATE_STATUS_REFUSED', { at: '/signerCertificate', message: `the certificate ${why}` });
}
