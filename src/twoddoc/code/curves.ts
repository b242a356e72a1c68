import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';

/** A curve that signs 2D-Doc codes, with the one hash that goes with it (ANTS v3.2.6 §3.5). */
export interface ZoneCurve {
  readonly name: 'P-256' | 'P-384' | 'P-521';
  /** Name in OpenSSL. */
  readonly namedCurve: string;
  readonly algorithm: SignatureAlgorithm & { readonly scheme: 'ECDSA' };
  /** Of r‖s. */
  readonly signatureBytes: number;
  /** Of r‖s in Base32 without padding. */
  readonly signatureCharacters: number;
}

export const zoneCurves: readonly ZoneCurve[] = [
  { name: 'P-256', namedCurve: 'prime256v1', algorithm: { scheme: 'ECDSA', hash: 'sha256' }, signatureBytes: 64, signatureCharacters: 103 },
  { name: 'P-384', namedCurve: 'secp384r1', algorithm: { scheme: 'ECDSA', hash: 'sha384' }, signatureBytes: 96, signatureCharacters: 154 },
  { name: 'P-521', namedCurve: 'secp521r1', algorithm: { scheme: 'ECDSA', hash: 'sha512' }, signatureBytes: 132, signatureCharacters: 212 },
];

/** Returns a curve by its name; undefined for another kind of key. */
export function zoneCurve(name: string): ZoneCurve | undefined {
  return zoneCurves.find((curve) => curve.name === name);
}
