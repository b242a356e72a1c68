import { describe, expect, it } from 'vitest';
import { usualProperties, type SignedProperties } from '../../../src/signatures/request/signed-properties.ts';
import { enveloped } from './xades-signer.ts';

/** The part of the signed properties between two tags. */
function written(properties: Partial<SignedProperties>, version: 'VERSION_1_1_1' | 'VERSION_1_3_2' = 'VERSION_1_3_2'): string {
  const signed = enveloped('<a/>', { version, properties: { ...usualProperties, ...properties } }).toString();
  return (
    /<xad:SignedDataObjectProperties>(.*)<\/xad:SignedDataObjectProperties>/s
      .exec(signed)?.[1]
      ?.replace(/^.*?<\/xad:DataObjectFormat>/s, '') ?? ''
  );
}
const commitment = (name: string, qualifier = '', base = 'v1.2.2'): string =>
  `<xad:CommitmentTypeIndication><xad:CommitmentTypeId><xad:Identifier>http://uri.etsi.org/01903/${base}#${name}</xad:Identifier></xad:CommitmentTypeId><xad:AllSignedDataObjects></xad:AllSignedDataObjects>${qualifier}</xad:CommitmentTypeIndication>`;
const qualifier = (text: string): string =>
  `<xad:CommitmentTypeQualifiers><xad:CommitmentTypeQualifier>${text}</xad:CommitmentTypeQualifier></xad:CommitmentTypeQualifiers>`;

describe('the commitments of a XAdES signature', () => {
  it.each<[Partial<SignedProperties>, string]>([
    [{}, ''],
    [{ commitments: ['ORIGIN'] }, commitment('ProofOfOrigin')],
    [
      { commitments: ['RECEIPT', 'DELIVERY', 'SENDER', 'APPROVAL'] },
      ['Receipt', 'Delivery', 'Sender', 'Approval'].map((name) => commitment(`ProofOf${name}`)).join(''),
    ],
    // A text alone is one of approval; with others it belongs to the first.
    [{ commitmentText: 'Read & seen' }, commitment('ProofOfApproval', qualifier('Read &#x26; seen'))],
    [
      { commitmentText: 'Read', commitments: ['ORIGIN', 'SENDER'] },
      commitment('ProofOfOrigin', qualifier('Read')) + commitment('ProofOfSender'),
    ],
  ])('with %j', (properties, expected) => {
    expect(written(properties)).toBe(expected);
  });

  it('have an element of a known schema behind their text in version 1.1.1', () => {
    expect(written({ commitmentText: 'Read' }, 'VERSION_1_1_1')).toBe(
      commitment('ProofOfApproval', qualifier('Read<ds:MgmtData></ds:MgmtData>'), 'v1.1.1'),
    );
  });
});

it('the signing time of a XAdES signature is in UTC, in whole seconds', () => {
  const [, time = ''] = /<xad:SigningTime>(.*)<\/xad:SigningTime>/.exec(enveloped('<a/>').toString()) ?? [];
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
});
