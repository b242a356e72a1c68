import { Refusal } from '../../result-codes.ts';
import type { SignatureParameters } from '../../signatures/request/parameters.ts';
import type { PreparedSignatures } from '../../signatures/signatures.ts';
import { headerFault, type HeaderRules } from '../../twoddoc/identities/digital-identity.ts';
import { dayOfHex } from '../../twoddoc/zone/days.ts';
import { readHeader } from '../../twoddoc/zone/read-zone.ts';

/** Whether the request asks that the signer may sign the header of each data zone. */
export function checksIdentity({ code2DDocSignature }: SignatureParameters): boolean {
  return code2DDocSignature?.code2DDocParameters?.checkDigitalIdentity === true;
}

/**
 * Checks that each prepared data zone names the signer, who may sign its type (contract §9).
 * `rules`: of the digital identity, or of a certificate; undefined for any other key.
 * @throws {Refusal} IDENTITY_NOT_ALLOWED
 */
export function checkIdentityOf({ prepared }: PreparedSignatures, rules: HeaderRules | undefined): void {
  if (rules === undefined)
    throw new Refusal('IDENTITY_NOT_ALLOWED', { at: '/keyReference/reference', message: 'the key is not that of a digital identity' });
  for (const { covers, dataToSign } of prepared) {
    if (dataToSign === undefined) throw new Error('a data zone is kept in memory');
    const header = readHeader(dataToSign);
    const fault = headerFault(rules, header, dayOfHex(header.signatureDate));
    if (fault !== undefined) throw new Refusal('IDENTITY_NOT_ALLOWED', { at: `/inputDocuments/${covers[0]?.index ?? 0}`, message: fault });
  }
}
