import { signerCertificate, type SignerKeyType } from '../../certificates/signer-certificate.ts';
import { strangersChain } from '../../certificates/strangers-chain.ts';
import { Refusal } from '../../result-codes.ts';
import type { SignerChain } from '../../signatures/format.ts';
import type { Context } from '../operation.ts';
import { notACertificate, type PresentedCertificate } from './presented-certificates.ts';

/** A signer whose key is not on the token. */
export interface ExternalSigner {
  readonly key: { readonly type: SignerKeyType };
  readonly chain: SignerChain;
}

/**
 * Returns the signer for a certificate from any CA, the first of those that are presented. Its chain
 * is built from the others and those of the tenant's own CA; what is not part of it is ignored.
 * @throws {Refusal} FIELD_INVALID for what is not a certificate; UNSUPPORTED for an unsupported key,
 *   and for a chain that costs too much
 */
export async function externalSigner(
  [own, ...others]: readonly [PresentedCertificate, ...PresentedCertificate[]],
  trustedCa: string | undefined,
  { caller, config, authorities, threads }: Pick<Context, 'caller' | 'config' | 'authorities' | 'threads'>,
): Promise<ExternalSigner> {
  const authority = authorities.get(config.tenants[caller.tenant]?.certificateAuthority ?? '');
  const known = [...(authority?.chain ?? []), ...(authority?.otherChains ?? []).flat()];
  const found = await strangersChain({ own: own.der, chain: others.map(({ der }) => der), known, trustedCa }, threads);
  if ('notCertificate' in found) throw notACertificate([own, ...others][found.notCertificate] ?? own);
  if ('keyFault' in found) throw unsupportedChain(`the key of certificate ${found.of} of the chain ${found.keyFault}`);
  if ('tooMuch' in found) throw unsupportedChain(`verifying the chain takes too long: ${found.tooMuch}`);
  const signer = 'issuers' in found ? signerCertificate(own.der) : undefined;
  if (signer === undefined || !('issuers' in found)) {
    throw new Refusal('UNSUPPORTED', {
      at: '/signerCertificate',
      message:
        'unsupported key type; supported: RSA of 2048 to 8192 bits with an odd public exponent from 65537 to 2^32, P-256, P-384, P-521',
    });
  }
  const { certificate, publicKey, keyType } = signer;
  return { key: { type: keyType }, chain: { certificate, publicKey, issuers: found.issuers } };
}

function unsupportedChain(message: string): Refusal {
  return new Refusal('UNSUPPORTED', { at: '/certificateChain', message });
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
