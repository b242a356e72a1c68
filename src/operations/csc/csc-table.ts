import type { Operation } from '../operation.ts';
import { authorizeV1, authorizeV2 } from './authorize.ts';
import { credentialsInfoV1, credentialsInfoV2 } from './credential-info.ts';
import { credentialsListV1, credentialsListV2 } from './credentials-list.ts';
import { extendTransactionV1, extendTransactionV2 } from './extend-transaction.ts';
import { getChallengeV2, sendOtpV1, sendOtpV2 } from './one-time-password.ts';
import { infoV1, infoV2 } from './service-info.ts';
import { signDocV2 } from './sign-doc.ts';
import { signHashV1, signHashV2 } from './sign-hash.ts';
import { timestampV1, timestampV2 } from './timestamp.ts';

/** The methods of the Cloud Signature Consortium's API, both versions. */
export const cscOperations: readonly Operation[] = [
  ...[infoV1, credentialsListV1, credentialsInfoV1, sendOtpV1, authorizeV1, extendTransactionV1, signHashV1, timestampV1],
  ...[infoV2, credentialsListV2, credentialsInfoV2, sendOtpV2, getChallengeV2, authorizeV2, extendTransactionV2],
  ...[signHashV2, signDocV2, timestampV2],
];
