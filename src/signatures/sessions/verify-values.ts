import type { KeyObject } from 'node:crypto';
import { moduleFile } from '../../config/module-file.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { ecdsaValueToDer, possibleEcdsaValues } from '../signature-value.ts';
import { valueVerifies, type Signed } from '../../cms/verify-value.ts';

/** A value that was made elsewhere, and what it should be of. */
export interface OutsideValue extends Signed {
  readonly value: Uint8Array;
}

export interface ValuesTask {
  readonly publicKey: KeyObject;
  readonly algorithm: SignatureAlgorithm;
  readonly values: readonly OutsideValue[];
}

/** From here on values are verified outside of the event loop: by the digest alone, ECDSA takes milliseconds. */
const manyValues = 64;
const manySlowValues = 2;
const thread = moduleFile('./verify-values-thread', import.meta.url);

/** Each value in the form that formats take (ECDSA: r‖s), undefined where it does not verify. ECDSA values may be r‖s or DER. */
export async function verifiedValues(task: ValuesTask, threads: WorkThreads): Promise<readonly (Uint8Array | undefined)[]> {
  const slow = task.algorithm.scheme === 'ECDSA' ? task.values.filter(({ data }) => data === undefined).length : 0;
  if (task.values.length < manyValues && slow < manySlowValues) return verifyValues(task);
  return threads.run(thread, 'verifyValues', task);
}

export function verifyValues({ publicKey, algorithm, values }: ValuesTask): readonly (Uint8Array | undefined)[] {
  return values.map(({ value, ...signed }) => {
    if (algorithm.scheme !== 'ECDSA') return valueVerifies(publicKey, algorithm, signed, value) ? value : undefined;
    const possible = possibleEcdsaValues(value, publicKey.asymmetricKeyDetails?.namedCurve);
    return possible.find((one) => valueVerifies(publicKey, algorithm, signed, ecdsaValueToDer(one)));
  });
}
