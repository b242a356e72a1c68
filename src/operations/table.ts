import { changePassword } from './change-password/change-password.ts';
import { checkKey } from './check-key/check-key.ts';
import { cscOperations } from './csc/csc-table.ts';
import { createCertificate } from './create-certificate/create-certificate.ts';
import { createDataZone } from './create-data-zone/create-data-zone.ts';
import { createImage2DDoc } from './create-image-2ddoc/create-image-2ddoc.ts';
import type { Operation } from './operation.ts';
import { remotePreSign } from './remote-pre-sign/remote-pre-sign.ts';
import { remoteSign } from './remote-sign/remote-sign.ts';
import { removeKey } from './remove-key/remove-key.ts';
import { sendMessage } from './send-message/send-message.ts';
import { sendOtp } from './send-otp/send-otp.ts';
import { revokeCertificate } from './revoke-certificate/revoke-certificate.ts';
import { sign } from './sign/sign.ts';

/** Every operation of the API. */
export const operations: readonly Operation[] = [
  remotePreSign,
  remoteSign,
  sign,
  createCertificate,
  revokeCertificate,
  sendMessage,
  sendOtp,
  changePassword,
  checkKey,
  removeKey,
  createDataZone,
  createImage2DDoc,
  ...cscOperations,
];
