import { Fault, faults } from '../../faults.ts';

/**
 * Thrown if the place of the files cannot be reached or used: nothing was done that a repetition
 * does not replace. Callers of the service receive 503.
 */
export class TransferStoreUnavailable extends Fault {
  declare readonly code: 'TRANSFER_STORE_UNAVAILABLE';
  /** False if the place refuses the service, as it is configured. */
  readonly isTemporary: boolean;

  constructor(reason: string, { isTemporary, cause }: { readonly isTemporary: boolean; readonly cause?: unknown }) {
    super('TRANSFER_STORE_UNAVAILABLE', { message: `${faults.TRANSFER_STORE_UNAVAILABLE.text}: ${reason}`, cause });
    this.name = 'TransferStoreUnavailable';
    this.isTemporary = isTemporary;
  }
}
