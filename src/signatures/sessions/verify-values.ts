import { ecdsaValueToDer } from '../../asn1/ecdsa-value.ts';
import type { KeyObject } from 'node:crypto';
import { moduleFile } from '../../config/module-file.ts';
import type { ThreadFunction, WorkThreads } from '../../threads/work-threads.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { takesLong } from '../../verification/effort.ts';
import { valueVerifies } from '../../verification/verify-value.ts';
import { possibleEcdsaValues } from '../signature-value.ts';

/** A signature value made elsewhere, and the digest that it should sign. */
export interface OutsideValue {
  readonly digest: Uint8Array;
  readonly value: Uint8Array;
}

export interface ValuesTask {
  readonly publicKey: KeyObject;
  readonly algorithm: SignatureAlgorithm;
  readonly values: readonly OutsideValue[];
}

const thread: ThreadFunction = {
  module: moduleFile('./verify-values', import.meta.url),
  name: 'verifyValues',
  lane: 'hashing',
  whenClientIsGone: 'stops',
};

/**
 * Returns each value in the form that formats expect (ECDSA: r‖s), or undefined if it does not
 * verify. ECDSA values may be r‖s or DER.
 */
export async function verifiedValues(task: ValuesTask, threads: WorkThreads): Promise<readonly (Uint8Array | undefined)[]> {
  return takesLong(task.publicKey, task.values.length) ? threads.run(thread, task) : verifyValues(task);
}

/** Verifies the values. Also runs in a work thread. */
export function verifyValues({ publicKey, algorithm, values }: ValuesTask): readonly (Uint8Array | undefined)[] {
  return values.map(({ digest, value }) => {
    if (algorithm.scheme !== 'ECDSA') return valueVerifies(publicKey, algorithm, digest, value) ? value : undefined;
    const possible = possibleEcdsaValues(value, publicKey.asymmetricKeyDetails?.namedCurve);
    return possible.find((one) => valueVerifies(publicKey, algorithm, digest, ecdsaValueToDer(one)));
  });
}
