import type { Operation } from '../../operations/operation.ts';

/** Path prefixes of the operations (contract §1). */
export interface OperationRoots {
  /** Of signatures, keys and certificates. */
  readonly signRoot: string;
  /** Of the creation of 2D-Doc codes. */
  readonly doc2dRoot: string;
}

/** Returns the path at which an operation is served. */
export function operationPath({ path }: Pick<Operation, 'path'>, { signRoot, doc2dRoot }: OperationRoots): string {
  return `${path.startsWith('creator/') ? doc2dRoot : signRoot}/${path}`;
}
