import { z } from 'zod';

/** Flags of CK_TOKEN_INFO (PKCS#11 v2.40 §3.2) that an operator acts on. */
export const tokenFlags = [
  'initialised',
  'userPinSet',
  'loginRequired',
  'writeProtected',
  'pinPad',
  'userPinLow',
  'userPinFinalTry',
  'userPinLocked',
  'userPinToBeChanged',
  'soPinLow',
  'soPinFinalTry',
  'soPinLocked',
  'soPinToBeChanged',
  'errorState',
] as const;
export type TokenFlag = (typeof tokenFlags)[number];

/** Identity and state of the token (CK_TOKEN_INFO). */
export const TokenReport = z.strictObject({
  /** Labels, serials and names are as the token reports them, unchecked. */
  label: z.string(),
  serial: z.string(),
  manufacturer: z.string(),
  model: z.string(),
  hardwareVersion: z.string(),
  firmwareVersion: z.string(),
  flags: z.array(z.enum(tokenFlags)),
  pinLength: z.strictObject({ min: z.number(), max: z.number() }),
  /** Number of open sessions, and their maximum; null if the token does not say. */
  sessions: z.strictObject({ open: z.number().nullable(), max: z.number().nullable() }),
});
export type TokenReport = z.output<typeof TokenReport>;
