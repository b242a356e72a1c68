import { mkdirSync } from 'node:fs';
import * as cades from './cades-matrix.ts';
import { makeCades, makeCoSignatures } from './cades-signatures.ts';
import type { Level } from './levels.ts';
import * as pades from './pades-matrix.ts';
import { makePades } from './pades-signatures.ts';
import { SigningService, type KeyType } from './signing-service.ts';
import * as xades from './xades-matrix.ts';
import { makeSeries, series } from './xades-series.ts';
import { makeXades } from './xades-signatures.ts';

/** What a validator is asked of one file; a line of JSON. */
export interface ValidationRequest {
  readonly file: string;
  /** The signed content where it is not in the file; with the name by which the signature calls it, where that is not its own. */
  readonly content?: readonly (string | { readonly path: string; readonly name: string })[];
  readonly trust: readonly string[];
  /** The level claimed; absent where the signature claims none: without signing time it is no baseline signature (EN 319 122-1 §6.3, EN 319 132-1 §6.3). */
  readonly require?: Level;
  /** The signature is no baseline signature, as BASIC ones in PDF. */
  readonly plain?: true;
  /** Of an encrypted PDF. */
  readonly password?: string;
}

export type Family = 'CAdES' | 'XAdES' | 'PAdES';

/** A signature to be judged. */
export interface Sample {
  readonly request: ValidationRequest;
  /** Level that a plain signature reaches. */
  readonly plainLevel?: Level;
  /** A validator that refuses it wrongly, for a reason that is known: the others judge it. */
  readonly refusedBy?: string;
}

export interface MadeSignature extends Sample {
  readonly family: Family;
}

export interface Made {
  readonly signatures: readonly MadeSignature[];
  /** What the service refused or could not do. */
  readonly failures: readonly string[];
}

export interface Selection {
  readonly which: 'all' | 'pairs';
  readonly families: readonly Family[];
}

const atOnce = 4;
const keyTypes: readonly KeyType[] = cades.factors.keyType;

/** Has a service of its own make every signature of the matrices, or some that cover their pairs, and writes them into the directory. */
export async function makeSignatures(directory: string, { which, families }: Selection): Promise<Made> {
  mkdirSync(directory, { recursive: true });
  const service = await SigningService.start(directory);
  try {
    const tasks: Record<Family, () => (() => Promise<Sample[]>)[]> = {
      CAdES: () => [
        ...(which === 'all' ? cades.everyCombination() : cades.everyPair()).map((one) => async () => makeCades(service, directory, one)),
        ...keyTypes.map((type) => async () => makeCoSignatures(service, directory, type)),
      ],
      XAdES: () => [
        ...(which === 'all' ? xades.everyTriple() : xades.everyPair()).map((one) => async () => makeXades(service, directory, one)),
        ...Object.keys(series).map((name) => async () => makeSeries(service, directory, name)),
      ],
      PAdES: () =>
        (which === 'all' ? pades.everyCombination() : pades.everyPair()).map((one) => async () => makePades(service, directory, one)),
    };
    const signatures: MadeSignature[] = [];
    const failures: string[] = [];
    const left = families.flatMap((family) => tasks[family]().map((task) => ({ family, task }))).values();
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const { family, task } of left) {
          try {
            signatures.push(...(await task()).map((sample) => ({ family, ...sample })));
          } catch (error) {
            failures.push(String(error));
          }
        }
      }),
    );
    return { signatures, failures };
  } finally {
    service.remove();
  }
}
