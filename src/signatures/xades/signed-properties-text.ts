import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { distinguishedNameText } from '../../x509/distinguished-name.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { digestUris } from '../../xmldsig/algorithm-uris.ts';
import { characters, element } from '../../xml/xml-text.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import type { CommitmentType, ExplicitPolicy, ProductionPlace, SignedProperties } from '../request/signed-properties.ts';
import { xadesVersions, type XadesVersion, type XadesVersionRules } from './xades-version.ts';

/** A signed data object: its reference in SignedInfo, and its media type. */
export interface DataObject {
  /** Id of its Reference. */
  readonly referenceId: string;
  readonly mimeType: string;
}

export interface SignedPropertiesTask {
  readonly version: XadesVersion;
  readonly prefix: string;
  /** Id of the element. */
  readonly id: string;
  readonly certificate: Certificate;
  readonly hash: HashName;
  readonly now: Date;
  readonly properties: SignedProperties;
  readonly dataObjects: readonly DataObject[];
}

const commitmentNames = {
  ORIGIN: 'ProofOfOrigin',
  RECEIPT: 'ProofOfReceipt',
  DELIVERY: 'ProofOfDelivery',
  SENDER: 'ProofOfSender',
  APPROVAL: 'ProofOfApproval',
} as const satisfies Record<CommitmentType, string>;

/**
 * Returns the SignedProperties of a signature (EN 319 132-1 §5.2; for versions before 1.3.2 TS 101
 * 903 of that version). `prefix` and `ds` are declared around it.
 */
export function signedPropertiesText({
  version,
  prefix,
  id,
  certificate,
  hash,
  now,
  properties,
  dataObjects,
}: SignedPropertiesTask): string {
  const rules = xadesVersions[version];
  const write = new PropertyWriter(rules, prefix);
  const { signingTime, policy, place, claimedRoles, commitments, commitmentText } = properties;
  const [first = commitmentText === undefined ? undefined : 'APPROVAL', ...others] = commitments;
  const types = first === undefined ? [] : [first, ...others];
  // A baseline signature may not use SHA-1 here, so SHA-256 replaces it.
  const certificateHash = hash === 'sha1' ? 'sha256' : hash;
  return write.own(
    'SignedProperties',
    { Id: id },
    write.own(
      'SignedSignatureProperties',
      {},
      signingTime === 'NONE' ? '' : write.own('SigningTime', {}, dateTime(signingTime === 'SYSTEM' ? now : signingTime)),
      write.signingCertificate(certificate, certificateHash),
      write.policyIdentifier(policy),
      place === undefined ? '' : write.productionPlace(place),
      claimedRoles.length === 0 ? '' : write.signerRole(claimedRoles),
    ),
    write.own(
      'SignedDataObjectProperties',
      {},
      ...dataObjects.map((one) => write.dataObjectFormat(one)),
      ...types.map((type, index) => write.commitment(type, index === 0 ? commitmentText : undefined)),
    ),
  );
}

/** Writes elements in the namespace of one version. */
class PropertyWriter {
  readonly #rules: XadesVersionRules;
  readonly #prefix: string;

  constructor(rules: XadesVersionRules, prefix: string) {
    this.#rules = rules;
    this.#prefix = prefix;
  }

  own(name: string, attributes: Readonly<Record<string, string | undefined>>, ...content: readonly string[]): string {
    return element(`${this.#prefix}:${name}`, attributes, ...content);
  }

  /**
   * Text where the schema allows anything. That of version 1.1.1 requires an element there, of a
   * known schema: an empty one follows.
   */
  anything(name: string, text: string): string {
    return this.own(name, {}, characters(text), this.#rules.hasOwnDigest ? element('ds:MgmtData', {}) : '');
  }

  text(name: string, text: string | undefined): string {
    return text === undefined ? '' : this.own(name, {}, characters(text));
  }

  /**
   * SigningCertificateV2 (§5.2.2) without URI; before, SigningCertificate with issuer and serial
   * number as text.
   */
  signingCertificate({ der: bytes, issuer, serialNumber }: Certificate, hash: HashName): string {
    const digest = this.own('CertDigest', {}, ...this.#digest(hash, createHash(hash).update(bytes).digest()));
    if (this.#rules.hasV2) {
      const issuerSerial = der.sequence(der.sequence(der.explicit(4, issuer)), der.tagged(0x02, serialNumber));
      const issuerSerialV2 = this.own('IssuerSerialV2', {}, Buffer.from(issuerSerial).toString('base64'));
      return this.own('SigningCertificateV2', {}, this.own('Cert', {}, digest, issuerSerialV2));
    }
    const number = BigInt(`0x${Buffer.from(serialNumber).toString('hex')}`).toString();
    const issuerSerial = this.own(
      'IssuerSerial',
      {},
      element('ds:X509IssuerName', {}, characters(distinguishedNameText(issuer))),
      element('ds:X509SerialNumber', {}, number),
    );
    return this.own('SigningCertificate', {}, this.own('Cert', {}, digest, issuerSerial));
  }

  /** SignaturePolicyIdentifier (§5.2.9), which version 1.1.1 requires. */
  policyIdentifier(policy: SignedProperties['policy']): string {
    if (policy === 'NONE' && !this.#rules.hasOwnDigest) return '';
    const content = policy === 'NONE' || policy === 'IMPLICIT' ? this.own('SignaturePolicyImplied', {}) : this.#explicitPolicy(policy);
    return this.own('SignaturePolicyIdentifier', {}, content);
  }

  /** SignatureProductionPlaceV2 (§5.2.5). */
  productionPlace({ city, stateOrProvince, postalCode, countryCode }: ProductionPlace): string {
    return this.own(
      this.#rules.hasV2 ? 'SignatureProductionPlaceV2' : 'SignatureProductionPlace',
      {},
      this.text('City', city),
      this.text('StateOrProvince', stateOrProvince),
      this.text('PostalCode', postalCode),
      this.text('CountryName', countryCode),
    );
  }

  /** SignerRoleV2 (§5.2.6). */
  signerRole(claimedRoles: readonly string[]): string {
    const roles = this.own('ClaimedRoles', {}, ...claimedRoles.map((role) => this.anything('ClaimedRole', role)));
    return this.own(this.#rules.hasV2 ? 'SignerRoleV2' : 'SignerRole', {}, roles);
  }

  /** DataObjectFormat (§5.2.4). */
  dataObjectFormat({ referenceId, mimeType }: DataObject): string {
    return this.own('DataObjectFormat', { ObjectReference: `#${referenceId}` }, this.text('MimeType', mimeType));
  }

  /** CommitmentTypeIndication (§5.2.3) for all signed data objects. */
  commitment(type: CommitmentType, text: string | undefined): string {
    const qualifiers = text === undefined ? '' : this.own('CommitmentTypeQualifiers', {}, this.anything('CommitmentTypeQualifier', text));
    return this.own(
      'CommitmentTypeIndication',
      {},
      this.own('CommitmentTypeId', {}, this.text('Identifier', `${this.#rules.commitmentBase}${commitmentNames[type]}`)),
      this.own('AllSignedDataObjects', {}),
      qualifiers,
    );
  }

  #explicitPolicy({ oid, hash, digest, url }: ExplicitPolicy): string {
    const identifier = this.own('Identifier', { Qualifier: 'OIDAsURN' }, `urn:oid:${oid}`);
    const qualifier = this.own('SigPolicyQualifier', {}, this.text('SPURI', url));
    return this.own(
      'SignaturePolicyId',
      {},
      this.own('SigPolicyId', {}, identifier),
      this.own('SigPolicyHash', {}, ...this.#digest(hash, digest)),
      this.own('SigPolicyQualifiers', {}, qualifier),
    );
  }

  #digest(hash: HashName, digest: Uint8Array): string[] {
    const prefix = this.#rules.hasOwnDigest ? this.#prefix : 'ds';
    return [
      element(`${prefix}:DigestMethod`, { Algorithm: digestUris[hash] }),
      element(`${prefix}:DigestValue`, {}, Buffer.from(digest).toString('base64')),
    ];
  }
}

/** xs:dateTime in UTC, to the second. */
function dateTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
