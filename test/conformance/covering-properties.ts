import { createHash } from 'node:crypto';

const policy = {
  URL: 'https://policy.example/v1.pdf',
  OID: '1.2.250.1.1.1.1',
  digest: { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update('policy').digest('hex') },
};
const productionPlace = { city: 'Orléans', stateOrProvince: 'Centre', postalCode: '45000' };
const roles = { claimedRoles: { claimedRole: ['Notaire', 'Directrice générale'] } };

/** Every option of signedProperties at least once. */
export const coveringProperties: Record<string, object> = {
  /** When it is asked for: within the validity of a certificate that was made before. */
  get 'client-time'() {
    return { signingTime: { source: 'CLIENT', time: Date.now() } };
  },
  'no-time': { signingTime: { source: 'NONE' }, commitmentTypeId: 'APPROVAL' },
  appellation: { signatureType: 'APPELLATION', signingTime: { source: 'SYSTEM' } },
  independent: { signatureType: 'INDEPENDENT', commitmentTypeId: 'DELIVERY' },
  'appellation-and-origin': { signatureType: 'APPELLATION', commitmentTypeId: 'ORIGIN' },
  receipt: { commitmentTypeId: 'RECEIPT' },
  sender: { commitmentTypeId: 'SENDER', commitmentText: 'not used' },
  text: { commitmentText: 'Lu et approuvé' },
  'appellation-and-text': { signatureType: 'APPELLATION', commitmentText: 'Lu et approuvé' },
  implicit: { signaturePolicy: 'IMPLICIT' },
  explicit: { signaturePolicy: 'EXPLICIT', sigPolicyQualifier: policy },
  place: { signatureProductionPlace: productionPlace },
  'place-country': { signatureProductionPlace: { countryCode: 'BE' } },
  roles: { signerRole: roles },
  'no-roles': { signerRole: { claimedRoles: {} }, signaturePolicy: 'NONE', commitmentTypeId: 'ORIGIN' },
  everything: {
    signatureType: 'APPELLATION',
    commitmentText: 'Bon pour accord',
    signaturePolicy: 'EXPLICIT',
    sigPolicyQualifier: policy,
    signatureProductionPlace: productionPlace,
    signerRole: roles,
  },
};
