import type { z } from 'zod';
import type { Certificate } from '../../x509/certificate.ts';
import { Refusal } from '../../result-codes.ts';
import { hashOfOid } from '../../cms/algorithm-identifier.ts';
import { usualProperties, type CommitmentType, type ExplicitPolicy, type SignedProperties } from './signed-properties.ts';
import { hashBytes } from '../../token/signature-algorithm.ts';
import type { SignedPropertiesField } from './shared-members.ts';

const noPlace = { city: undefined, stateOrProvince: undefined, postalCode: undefined } as const;
/** The interface's default. */
const usualCountry = 'FR';

type Fields = z.output<typeof SignedPropertiesField>;

/**
 * Returns the properties to sign with the document (interface, Signed properties). `at`: JSON
 * Pointer of the field. `isXp7`: whether APPELLATION implies ORIGIN.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function signedPropertiesAsked(fields: Fields | undefined, at: string, { isXp7 }: { readonly isXp7: boolean }): SignedProperties {
  if (fields === undefined) return usualProperties;
  const policy = policyAsked(fields, at);
  const appellation: readonly CommitmentType[] = isXp7 && fields.signatureType === 'APPELLATION' ? ['ORIGIN'] : [];
  const { commitmentTypeId: commitment, commitmentText, signatureProductionPlace: place } = fields;
  return {
    signingTime: signingTimeAsked(fields, at),
    commitments: [...new Set(commitment === undefined ? appellation : [...appellation, commitment])],
    commitmentText: commitment === undefined ? commitmentText : undefined,
    policy,
    place: place === undefined ? undefined : { ...noPlace, ...place, countryCode: place.countryCode ?? usualCountry },
    claimedRoles: fields.signerRole?.claimedRoles.claimedRole ?? [],
  };
}

function signingTimeAsked({ signingTime: { source = 'SYSTEM', time } = {} }: Fields, at: string): SignedProperties['signingTime'] {
  if (source !== 'CLIENT' && time !== undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/signingTime/time`, message: 'a time is allowed only with the source CLIENT' });
  }
  if (source !== 'CLIENT') return source;
  if (time === undefined)
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/signingTime/time`, message: 'the source CLIENT needs a time' });
  return new Date(time);
}

/**
 * Checks that a time claimed by the caller lies within the validity of the signer certificate
 * (formats, All formats).
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
export function checkSigningTime({ signingTime }: SignedProperties, { notBefore, notAfter }: Certificate, at: string): void {
  if (!(signingTime instanceof Date) || (signingTime >= notBefore && signingTime <= notAfter)) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: `${at}/signingTime/time`,
    message: `outside the validity of the signer certificate, ${notBefore.toISOString()} to ${notAfter.toISOString()}`,
  });
}

function policyAsked({ signaturePolicy = 'NONE', sigPolicyQualifier: qualifier }: Fields, at: string): SignedProperties['policy'] {
  const there = `${at}/sigPolicyQualifier`;
  if (signaturePolicy !== 'EXPLICIT') {
    if (qualifier === undefined) return signaturePolicy;
    throw new Refusal('FIELDS_INCONSISTENT', { at: there, message: 'allowed only with signaturePolicy EXPLICIT' });
  }
  if (qualifier === undefined) throw new Refusal('FIELDS_INCONSISTENT', { at: there, message: 'required with signaturePolicy EXPLICIT' });
  return explicitPolicy(qualifier, there);
}

function explicitPolicy({ URL: url, OID: oid, digest }: NonNullable<Fields['sigPolicyQualifier']>, at: string): ExplicitPolicy {
  const hash = hashOfOid(digest.digestAlgOID);
  if (hash === undefined) {
    throw new Refusal('UNSUPPORTED', { at: `${at}/digest/digestAlgOID`, message: 'supported: SHA-1, SHA-256, SHA-384 and SHA-512' });
  }
  const value = Buffer.from(digest.digestValue, 'hex');
  if (value.length !== hashBytes[hash]) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: `${at}/digest/digestValue`,
      message: `a ${hash} digest has ${hashBytes[hash]} bytes`,
    });
  }
  return { oid, hash, digest: value, url };
}
