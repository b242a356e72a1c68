import type { Handle, PKCS11, SlotInfo } from 'pkcs11js';
import { moduleFaultWords } from '../operator/token-failure.ts';
import type { ProbeReport } from '../wire/probe-report.ts';
import type { SlotReport } from '../wire/reports.ts';
import type { TokenFlag, TokenReport } from '../wire/token-report.ts';
import { unpadded } from './session.ts';

/** CKF_ of CK_SLOT_INFO. */
const slotBits = { tokenPresent: 0x1, removable: 0x2 } as const;

/** CKF_ of CK_TOKEN_INFO. */
const flagBits: Readonly<Record<TokenFlag, number>> = {
  initialised: 0x400,
  userPinSet: 0x8,
  loginRequired: 0x4,
  writeProtected: 0x2,
  pinPad: 0x100,
  userPinLow: 0x10000,
  userPinFinalTry: 0x20000,
  userPinLocked: 0x40000,
  userPinToBeChanged: 0x80000,
  soPinLow: 0x100000,
  soPinFinalTry: 0x200000,
  soPinLocked: 0x400000,
  soPinToBeChanged: 0x800000,
  errorState: 0x1000000,
};
/** Object.entries of a record loses the type of its keys. */
const flagList = Object.entries(flagBits) as [TokenFlag, number][];

/** Describes every slot, with the token in it. */
export function reportSlots(module: PKCS11): SlotReport[] {
  return module.C_GetSlotList(false).map((slot) => {
    try {
      const info = module.C_GetSlotInfo(slot);
      return { slot: slotNumber(slot), ...slotWords(info), ...tokenIn(module, slot, info) };
    } catch (error) {
      return {
        slot: slotNumber(slot),
        description: '',
        manufacturer: '',
        removable: false,
        token: null,
        fault: moduleFaultWords(error).text,
      };
    }
  });
}

/** Describes the module (C_GetInfo). */
export function reportModule(module: PKCS11): ProbeReport['module'] {
  const { libraryDescription, manufacturerID, libraryVersion, cryptokiVersion } = module.C_GetInfo();
  return {
    description: unpadded(libraryDescription),
    manufacturer: unpadded(manufacturerID),
    version: versionText(libraryVersion),
    cryptokiVersion: versionText(cryptokiVersion),
  };
}

export function reportToken(module: PKCS11, slot: Handle): TokenReport {
  const info = module.C_GetTokenInfo(slot);
  return {
    label: unpadded(info.label),
    serial: unpadded(info.serialNumber),
    manufacturer: unpadded(info.manufacturerID),
    model: unpadded(info.model),
    hardwareVersion: versionText(info.hardwareVersion),
    firmwareVersion: versionText(info.firmwareVersion),
    flags: flagList.filter(([, bit]) => (info.flags & bit) !== 0).map(([name]) => name),
    pinLength: { min: info.minPinLen, max: info.maxPinLen },
    sessions: { open: sessionCount(info.sessionCount), max: info.maxSessionCount === 0 ? null : sessionCount(info.maxSessionCount) },
  };
}

/**
 * CK_SLOT_ID: an unsigned long in the machine's order, which is little-endian on x86-64 and arm64.
 */
export function slotNumber(slot: Handle): string {
  return slot.readBigUInt64LE().toString();
}

function versionText({ major, minor }: { readonly major: number; readonly minor: number }): string {
  return `${major}.${minor}`;
}

function slotWords(info: SlotInfo): Pick<SlotReport, 'description' | 'manufacturer' | 'removable'> {
  return {
    description: unpadded(info.slotDescription),
    manufacturer: unpadded(info.manufacturerID),
    removable: (info.flags & slotBits.removable) !== 0,
  };
}

function tokenIn(module: PKCS11, slot: Handle, info: SlotInfo): Pick<SlotReport, 'token' | 'fault'> {
  if ((info.flags & slotBits.tokenPresent) === 0) return { token: null, fault: null };
  try {
    return { token: reportToken(module, slot), fault: null };
  } catch (error) {
    return { token: null, fault: moduleFaultWords(error).text };
  }
}

/** CK_UNAVAILABLE_INFORMATION is all ones, which pkcs11js may return as a negative number. */
function sessionCount(value: number): number | null {
  return value < 0 || value >= 0xffffffff ? null : value;
}
