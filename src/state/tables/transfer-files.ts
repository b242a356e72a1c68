/**
 * A file of the transfer store (contract §4). Its content lies in the store's directory, under its
 * identifier.
 */
export interface TransferFileRow {
  /** 256 random bits, base64url. */
  id: string;
  tenant: string;
  /**
   * ARRIVING: nobody can fetch it yet. STAGED: evidence that is whole, and is to be published.
   * STORED. ENDED: nobody can fetch it any more, and it is to be removed from the disk.
   */
  state: string;
  /** Name of the instance that it arrives at. */
  owner: string;
  /** While it arrives: what is reserved for it. */
  bytes: number;
  media_type: string;
  file_name: string | null;
  /** Hexadecimal; null while it arrives. */
  sha256: string | null;
  /** While it arrives: when it is given up, unless its owner puts that off. */
  ends_at: number;
}

/** What a tenant has in the transfer store, what arrives included: the sum over its files. */
export interface TransferShareRow {
  tenant: string;
  bytes: number;
  files: number;
}
