import type { Operation } from '../../operations/operation.ts';

/** Path prefixes of the operations (contract §1). */
export interface OperationRoots {
  /** Of signatures, keys and certificates. */
  readonly signRoot: string;
  /** Of the creation of 2D-Doc codes. */
  readonly doc2dRoot: string;
  /** Of the Cloud Signature Consortium's API; undefined: it is not offered. */
  readonly cscRoot?: string | undefined;
}

/** Returns the path at which an operation is served. */
export function operationPath({ path }: Pick<Operation, 'path'>, { signRoot, doc2dRoot, cscRoot }: OperationRoots): string {
  const [group] = path.split('/', 1);
  if (group === 'csc') return `${cscRoot ?? ''}${path.slice('csc'.length)}`;
  return `${group === 'creator' ? doc2dRoot : signRoot}/${path}`;
}

/** Returns the operations that are offered below these prefixes. */
export function offeredOperations(operations: readonly Operation[], { cscRoot }: Pick<OperationRoots, 'cscRoot'>): readonly Operation[] {
  return operations.filter(({ path }) => cscRoot !== undefined || !path.startsWith('csc/'));
}
