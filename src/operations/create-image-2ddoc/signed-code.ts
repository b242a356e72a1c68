import { hash } from 'node:crypto';
import { requiredSecret } from '../../keys/credentials.ts';
import { Refusal } from '../../result-codes.ts';
import { checkRoom } from '../../twoddoc/code-picture.ts';
import { codeVerifies, joinCode, splitCode, zoneVerifies } from '../../twoddoc/code/code.ts';
import { zoneCurve } from '../../twoddoc/code/curves.ts';
import { headerFault, type DigitalIdentity } from '../../twoddoc/identities/digital-identity.ts';
import { refusing } from '../../twoddoc/two-d-doc-fault.ts';
import { dayOfHex } from '../../twoddoc/zone/days.ts';
import { splitHeader } from '../../twoddoc/zone/header.ts';
import { textOf } from '../../twoddoc/zone/parse-zone.ts';
import { readZone } from '../../twoddoc/zone/read-zone.ts';
import { zoneOfSource, type MadeZone } from '../fields/data-zone.ts';
import type { Context } from '../operation.ts';

const sourceAt = '/image2DDocSource/dataZoneSignatureSource';

/** A zone to be signed, given ready-made or as its source. */
export interface ZoneGiven {
  readonly dataZone?: Uint8Array | undefined;
  readonly dataZoneSource?: { readonly source: Uint8Array } | undefined;
}

/** A zone with the digital identity that it names. */
export interface ZoneToSign extends MadeZone {
  readonly identity: DigitalIdentity;
}

/**
 * Makes or reads the zone, and finds the digital identity that it names (contract §9).
 * @throws {Refusal} DOCUMENT_INVALID, also for a zone whose code fits into no symbol;
 *   IDENTITY_NOT_ALLOWED
 */
export function zoneToSign(
  { dataZone, dataZoneSource }: ZoneGiven,
  { caller, identities }: Pick<Context, 'caller' | 'identities'>,
): ZoneToSign {
  const at = dataZone === undefined ? `${sourceAt}/dataZoneSource/source` : `${sourceAt}/dataZone`;
  const { tenant } = caller;
  const made: MadeZone =
    dataZone === undefined
      ? zoneOfSource(dataZoneSource?.source ?? new Uint8Array(), at, { identities, tenant, today: new Date() })
      : { zone: dataZone, annex: undefined };
  const { header } = refusing(at, () => readZone(made.zone));
  const identity = identities.find(tenant, header.ca, header.certificate);
  const fault =
    identity === undefined
      ? `you have no digital identity ${header.ca} ${header.certificate}`
      : headerFault(identity, header, dayOfHex(header.signatureDate));
  if (identity === undefined || fault !== undefined) throw new Refusal('IDENTITY_NOT_ALLOWED', { at, message: fault ?? '' });
  const curve = zoneCurve(identity.curve);
  if (curve === undefined) throw new Error('an identity has a curve of 2D-Doc');
  refusing(at, () => checkRoom(made.zone, curve, made.annex));
  return { ...made, identity };
}

/**
 * Signs the zone, and has `answer` make the answer of its code.
 * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED
 */
export async function signedZone<T extends object>(
  { zone, annex, identity }: ZoneToSign,
  password: string,
  { identities, keys, audit }: Pick<Context, 'identities' | 'keys' | 'audit'>,
  answer: (code: Uint8Array) => Promise<T>,
): Promise<T> {
  audit.key = identity.reference;
  const { algorithm, publicKey } = identity;
  audit.digests.push(`${algorithm.hash}:${hash(algorithm.hash, zone)}`);
  const key = await identities.keyOf(identity);
  const given = requiredSecret(key, 'SIGN', { password }, sourceAt);
  return keys.signZones(key, given, { algorithm, zones: [zone] }, async ([value]) => {
    if (value === undefined || !zoneVerifies(zone, value, algorithm, publicKey))
      throw new Error(`the signature of the identity ${identity.ca} ${identity.certificateId} does not verify`);
    return answer(joinCode(zone, value, annex));
  });
}

/**
 * Checks a code that was signed before: that it can be read as one, and its signature, if it names
 * a digital identity of the tenant (contract §9).
 * @throws {Refusal} DOCUMENT_INVALID
 */
export function checkSignedCode(bytes: Uint8Array, at: string, { caller, identities }: Pick<Context, 'caller' | 'identities'>): void {
  const code = refusing(at, () => splitCode(bytes));
  const { header } = refusing(at, () => splitHeader(textOf(code.zone)));
  const identity = identities.find(caller.tenant, header.ca, header.certificate);
  if (identity === undefined || codeVerifies(code, identity.publicKey)) return;
  throw new Refusal('DOCUMENT_INVALID', {
    at,
    message: `the signature of the code does not verify under the certificate of your digital identity ${header.ca} ${header.certificate}`,
  });
}
