import { z } from 'zod';
import { ProbeReport } from './probe-report.ts';
import { TokenReport } from './token-report.ts';

/**
 * Reports on the token for operators: JSON in both directions, since they are rare and read by
 * people.
 */

const SlotReport = z.strictObject({
  /** Decimal, as text: slot identifiers have 64 bits. */
  slot: z.string(),
  description: z.string(),
  manufacturer: z.string(),
  removable: z.boolean(),
  token: TokenReport.nullable(),
  /** Reason why a token that is present cannot be described. */
  fault: z.string().nullable(),
});
export type SlotReport = z.output<typeof SlotReport>;

/** Flags of CK_MECHANISM_INFO (§3.4). */
export const mechanismAbilities = [
  'encrypt',
  'decrypt',
  'digest',
  'sign',
  'signRecover',
  'verify',
  'verifyRecover',
  'generate',
  'generateKeyPair',
  'wrap',
  'unwrap',
  'derive',
] as const;
export type MechanismAbility = (typeof mechanismAbilities)[number];

const MechanismReport = z.strictObject({
  /** `0x` and eight hexadecimal digits. */
  code: z.string(),
  /** The name in pkcs11t.h; `vendor-defined` or `unknown` if it has none. */
  name: z.string(),
  abilities: z.array(z.enum(mechanismAbilities)),
  inHardware: z.boolean(),
  /**
   * In the unit of the mechanism's specification: bits for RSA and EC, bytes for most others; 0 if
   * it has no meaning.
   */
  keySize: z.strictObject({ min: z.number(), max: z.number() }),
  /** Purpose for which signetd needs it; null if it does not. */
  neededFor: z.string().nullable(),
});
export type MechanismReport = z.output<typeof MechanismReport>;

const MechanismsReport = z.strictObject({
  mechanisms: z.array(MechanismReport),
  /** Features that signetd needs and the token lacks, one sentence each. */
  missing: z.array(z.string()),
});
export type MechanismsReport = z.output<typeof MechanismsReport>;

const ObjectReport = z.strictObject({
  kind: z.string(),
  owner: z.enum(['service', 'caller']),
  /** CKA_ID, hexadecimal. */
  id: z.string(),
  label: z.string(),
  /** Such as `P-256`, `RSA-2048`, `generic secret, 32 bytes`. */
  type: z.string(),
  /** null: the object has no such attribute, or the token does not reveal it. */
  sensitive: z.boolean().nullable(),
  extractable: z.boolean().nullable(),
  sign: z.boolean().nullable(),
});
export type ObjectReport = z.output<typeof ObjectReport>;

/**
 * One page of the inventory: an answer must fit into a frame and must not block the thread for
 * long.
 */
export const InventoryPage = z.strictObject({
  objects: z.array(ObjectReport),
  /** Number of objects that are not signetd's, by kind. */
  foreign: z.record(z.string(), z.number()),
  /** Start of the next page; null at the end. */
  next: z.string().nullable(),
});

/** The questions, with their parameters. */
export const reportRequests = {
  reportSlots: z.strictObject({}),
  /** `slot`: if absent, the slot of the configured token. */
  reportMechanisms: z.strictObject({
    slot: z
      .string()
      .regex(/^\d{1,20}$/)
      .optional(),
  }),
  reportInventory: z.strictObject({
    from: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .optional(),
  }),
  /** `full`: makes and tries keys of every type, which takes seconds; a serving host refuses it. */
  reportProbe: z.strictObject({ full: z.boolean().default(false) }),
} as const;
export type ReportName = keyof typeof reportRequests;

export const reportAnswers = {
  reportSlots: z.array(SlotReport),
  reportMechanisms: MechanismsReport,
  reportInventory: InventoryPage,
  reportProbe: ProbeReport,
} as const;
export type ReportAnswer<N extends ReportName> = z.output<(typeof reportAnswers)[N]>;
