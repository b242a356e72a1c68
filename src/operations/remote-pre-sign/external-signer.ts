import { issuersOf, signerCertificate, type SignerKeyType } from '../../certificates/signer-certificate.ts';
import { keyFault } from '../../verification/key-bounds.ts';
import { readCertificate } from '../../x509/certificate.ts';
import { TooManySignatures } from '../../x509/known-signatures.ts';
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
 * @throws {Refusal} UNSUPPORTED for an unsupported key, and for a chain that costs too much
 */
export async function externalSigner(
  { certificate: der, chain, trustedCa }: { certificate: Uint8Array; chain: readonly Uint8Array[]; trustedCa: string | undefined },
  { caller, config, authorities, threads }: Pick<Context, 'caller' | 'config' | 'authorities' | 'threads'>,
): Promise<ExternalSigner> {
  const signer = signerCertificate(der);
  if (signer === undefined) {
    throw new Refusal('UNSUPPORTED', {
      at: '/signerCertificate',
      message:
        'unsupported key type; supported: RSA of 2048 to 8192 bits with an odd public exponent from 65537 to 2^32, P-256, P-384, P-521',
    });
  }
  for (const [index, one] of chain.entries()) {
    const fault = keyFault(readCertificate(one).subjectPublicKeyInfo);
    if (fault !== undefined)
      throw new Refusal('UNSUPPORTED', { at: '/certificateChain', message: `the key of certificate ${index + 1} of the chain ${fault}` });
  }
  const own = authorities.get(config.tenants[caller.tenant]?.certificateAuthority ?? '');
  const known = [...chain, ...(own?.chain ?? []), ...(own?.otherChains ?? []).flat()];
  const { certificate, publicKey, keyType } = signer;
  try {
    const issuers = await issuersOf(der, known, trustedCa, threads);
    return { key: { type: keyType }, chain: { certificate, publicKey, issuers } };
  } catch (error) {
    if (!(error instanceof TooManySignatures)) throw error;
    throw new Refusal('UNSUPPORTED', {
      at: '/certificateChain',
      message: `verifying the chain takes too long: ${error.message}`,
      cause: error,
    });
  }
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
