import { z } from 'zod';
import { Base64 } from '../../fields/values.ts';
import { Refusal } from '../../result-codes.ts';
import type { DigitalIdentities } from '../../twoddoc/identities/digital-identities.ts';
import { refusing } from '../../twoddoc/two-d-doc-fault.ts';
import { readSource } from '../../twoddoc/source/read-source.ts';
import { annexOf, zoneOf } from '../../twoddoc/zone/zone-of.ts';
import type { ZoneSource } from '../../twoddoc/source/zone-source.ts';
import type { TenantId } from '../../clients/caller.ts';

/** Interface, Data zone source. */
export const DataZoneSource = z
  .strictObject({
    source: Base64.describe(
      'the XML source of the zone, a document of the schema of its document type, at most 64 KiB: its bytes in base64 (RFC 4648, padded, no line breaks)',
    ),
  })
  .meta({ id: 'DataZoneSource', description: 'the source of a data zone' });

/** A source in the documentation: an invoice. */
export const exampleSource = Buffer.from(
  [
    '<document xmlns="urn:2d-doc:source:1" type="01">',
    '<header><issueDate>2026-11-20</issueDate></header>',
    '<message><D26>FR</D26><D24>75001</D24><D22>12 RUE DU MOULIN</D22><D10>MME/MARTIN/CAMILLE</D10></message>',
    '</document>',
  ].join(''),
).toString('base64');

/** A zone made of a source, and what follows its signature. */
export interface MadeZone {
  readonly zone: Uint8Array;
  readonly annex: Uint8Array | undefined;
}

/** Who makes a zone, and when. */
export interface ZoneMaker {
  readonly identities: Pick<DigitalIdentities, 'forType'>;
  readonly tenant: TenantId;
  /** The date of the signature, unless the source has one. */
  readonly today: Date;
}

/**
 * Makes the zone of an XML source. Identifiers that the source leaves out are those of the one
 * digital identity of the tenant that may sign the type (contract §9).
 * @param at JSON Pointer of the source
 * @throws {Refusal} DOCUMENT_INVALID
 */
export function zoneOfSource(xml: Uint8Array, at: string, { identities, tenant, today }: ZoneMaker): MadeZone {
  const source = refusing(at, () => readSource(xml));
  const identifiers = identifiersOf(source, at, identities, tenant);
  return { zone: refusing(at, () => zoneOf(source, { ...identifiers, today })), annex: annexOf(source) };
}

function identifiersOf(
  { type, header }: ZoneSource,
  at: string,
  identities: Pick<DigitalIdentities, 'forType'>,
  tenant: TenantId,
): { readonly ca: string; readonly certificate: string } {
  const { ca, certificate } = header;
  if (ca !== undefined && certificate !== undefined) return { ca, certificate };
  const possible = identities
    .forType(tenant, type)
    .filter((identity) => (ca ?? identity.ca) === identity.ca && (certificate ?? identity.certificateId) === identity.certificateId);
  const [identity, ...others] = possible;
  if (identity !== undefined && others.length === 0) return { ca: identity.ca, certificate: identity.certificateId };
  const which =
    identity === undefined
      ? 'no digital identity of yours may sign it'
      : `several digital identities may: ${possible.map((one) => `${one.ca} ${one.certificateId}`).join(', ')}`;
  const absent = [...(ca === undefined ? ['ca'] : []), ...(certificate === undefined ? ['certificate'] : [])];
  throw new Refusal('DOCUMENT_INVALID', {
    at,
    message: `the header has no ${absent.join(' and no ')}, which is needed for documents of type ${type}: ${which}`,
  });
}
