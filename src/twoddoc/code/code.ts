import type { KeyObject } from 'node:crypto';
import { ecdsaValueToDer } from '../../asn1/ecdsa-value.ts';
import { dataVerifies, type DataAlgorithm } from '../../verification/verify-value.ts';
import { decodeBase32, encodeBase32 } from '../base32.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { groupSeparator, unitSeparator } from '../zone/notation.ts';
import { zoneCurves, type ZoneCurve } from './curves.ts';

/** Between the data zone and the signature (ANTS v3.2.6 §3.5). */
const unitSeparatorByte = unitSeparator.charCodeAt(0);
/** Between the signature and the annex. */
const groupSeparatorByte = groupSeparator.charCodeAt(0);
/** Length of a header of version 01, the shortest. */
const headerMinBytes = 22;

/** The parts of a code. */
export interface Code {
  /** Header and message: exactly the bytes that are signed. */
  readonly zone: Uint8Array;
  /** r‖s, each as wide as the curve. */
  readonly signature: Uint8Array;
  /** The curve of a signature of this length. */
  readonly curve: ZoneCurve;
  /** The fields behind the signature, which it does not cover; undefined if there are none. */
  readonly annex: Uint8Array | undefined;
}

/**
 * Returns the code: zone, US, the signature in Base32 without padding, and an annex behind GS
 * (ANTS v3.2.6 §3.5). `signature`: r‖s.
 */
export function joinCode(zone: Uint8Array, signature: Uint8Array, annex?: Uint8Array): Uint8Array {
  const parts = [zone, Uint8Array.of(unitSeparatorByte), Buffer.from(encodeBase32(signature), 'latin1')];
  return Buffer.concat(annex === undefined ? parts : [...parts, Uint8Array.of(groupSeparatorByte), annex]);
}

/**
 * Takes a code of any version apart. Its fields are not judged. Version 01 has the bytes of the
 * signature behind the zone, without a separator: they are taken for one of P-256, the curve of all
 * that are known.
 * @throws {TwoDDocFault} if it has no header or no signature of a possible length
 */
export function splitCode(code: Uint8Array): Code {
  const header = Buffer.from(code.subarray(0, headerMinBytes)).toString('latin1');
  const [, version] = /^DC(\d\d)[A-Z0-9]{8}[A-F0-9]{8}[A-Z0-9]{2}$/.exec(header) ?? [];
  if (version === undefined)
    throw new TwoDDocFault('this is not a 2D-Doc code, which begins with a header: DC, then a version of two digits');
  if (version === '01') return splitFirstVersion(code);
  const end = code.indexOf(unitSeparatorByte);
  if (end < 0) throw new TwoDDocFault('the code has no signature: no US (1F) ends its data zone');
  const rest = code.subarray(end + 1);
  const signatureEnd = rest.indexOf(groupSeparatorByte);
  const annex = signatureEnd < 0 ? undefined : rest.subarray(signatureEnd + 1);
  const text = Buffer.from(signatureEnd < 0 ? rest : rest.subarray(0, signatureEnd)).toString('latin1');
  const curve = zoneCurves.find(({ signatureCharacters }) => signatureCharacters === text.length);
  if (!/^[A-Z2-7]*$/.test(text)) throw new TwoDDocFault('the signature of the code is not Base32: A-Z and 2-7, without padding');
  if (curve === undefined) {
    const lengths = zoneCurves.map(({ name, signatureCharacters }) => `${signatureCharacters} (${name})`).join(', ');
    throw new TwoDDocFault(`the signature of the code has ${text.length} characters; allowed are ${lengths}`);
  }
  const signature = decodeBase32(text);
  if (signature === undefined) throw new TwoDDocFault('the last character of the signature of the code sets bits beyond its last byte');
  return { zone: code.subarray(0, end), signature, curve, annex: annex?.length === 0 ? undefined : annex };
}

function splitFirstVersion(code: Uint8Array): Code {
  const [curve] = zoneCurves;
  if (curve === undefined || code.length < headerMinBytes + curve.signatureBytes)
    throw new TwoDDocFault('the code has no signature: version 01 ends with its 64 bytes');
  const end = code.length - curve.signatureBytes;
  return { zone: code.subarray(0, end), signature: code.subarray(end), curve, annex: undefined };
}

/**
 * Whether the signature is the key's, over the exact bytes of the zone. A key of another curve is
 * false.
 */
export function codeVerifies({ zone, signature, curve }: Code, publicKey: KeyObject): boolean {
  return zoneVerifies(zone, signature, curve.algorithm, publicKey);
}

/** Whether r‖s is the key's signature over the exact bytes of a zone. Another length is false. */
export function zoneVerifies(zone: Uint8Array, signature: Uint8Array, algorithm: DataAlgorithm, publicKey: KeyObject): boolean {
  return dataVerifies(publicKey, algorithm, zone, ecdsaValueToDer(signature));
}
