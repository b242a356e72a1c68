/**
 * A file of the transfer store (contract §4). Its content lies in the store's directory, under its
 * identifier.
 */
export interface TransferFileRow {
  /** 256 random bits, base64url. */
  id: string;
  tenant: string;
  /**
   * ARRIVING: cannot be fetched yet. STAGED: complete evidence, to be published. STORED. ENDED: can
   * no longer be fetched, and is to be removed from the disk.
   */
  state: string;
  /** Name of the instance that receives it. */
  owner: string;
  /** While it arrives: the reserved size. */
  bytes: number;
  media_type: string;
  file_name: string | null;
  /** Hexadecimal; null while it arrives. */
  sha256: string | null;
  /** While it arrives: when it is given up, unless its owner extends this. */
  ends_at: number;
}

/** A tenant's total in the transfer store, including arriving files: the sum over its files. */
export interface TransferShareRow {
  tenant: string;
  bytes: number;
  files: number;
}
