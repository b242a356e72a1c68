export {
  SignetdClient,
  type CheckedKey,
  type CompletedSignatures,
  type CreatedCertificate,
  type DataZone,
  type Image2DDoc,
  type Prefixes,
  type PreparedSignatures,
  type Revocation,
  type Signatures,
} from './client.ts';
export type { CallOptions, ConnectionOptions } from './connection.ts';
export type { Download, FileStore, StoredFile, UploadOptions } from './file-store.ts';
export { SignetdError, type SignetdErrorDetails, type SignetdErrorName } from './signetd-error.ts';
export { signInTwoSteps } from './two-steps.ts';
export type * from './api.ts';
