import { SessionFlag, UserType, type Module, type Slot } from 'graphene-pk11';
import { pkcs11Code } from '../host/session.ts';
import { reportSlots, slotNumber } from '../host/token-report.ts';
import { pinIsRefused } from '../pkcs11-faults.ts';
import type { SlotReport } from '../wire/reports.ts';
import type { Initialisation, Initialised } from './module-messages.ts';
import { checkPinLength } from './pin-length.ts';
import { TokenFailure } from './token-failure.ts';

/** CK_TOKEN_INFO.label (PKCS#11 v2.40 §3.2), padded with blanks. */
const labelBytes = 32;

type Present = SlotReport & { readonly token: NonNullable<SlotReport['token']> };

/** The two secrets, read when they are needed. @throws {TokenFailure} */
export interface Pins {
  soPin(): Buffer;
  pin(): Buffer;
}

/**
 * Initialises a token and sets its user PIN (C_InitToken, C_InitPIN: PKCS#11 v2.40 §5.5). It
 * creates nothing else. Errors are detected before anything is changed, as far as the token allows.
 * @throws {TokenFailure}
 */
export function initialise(module: Module, wanted: Initialisation, pins: Pins): Initialised {
  if (wanted.label.trim() === '' || Buffer.byteLength(wanted.label) > labelBytes) {
    throw new TokenFailure('refused', `a label has 1 to ${labelBytes} bytes in UTF-8`);
  }
  const target = chooseSlot(reportSlots(module.lib), wanted);
  // pkcs11js accepts PINs as strings only. This process ends right after it has answered, and the
  // strings with it.
  const soPin = pins.soPin().toString('utf8');
  const pin = pins.pin().toString('utf8');
  const { pinLength } = target.token;
  checkPinLength('SO PIN', Buffer.from(soPin), pinLength);
  checkPinLength('user PIN', Buffer.from(pin), pinLength);
  const { handle } = slotAt(module, target.slot);
  // graphene's initToken expects a return value that pkcs11js does not give; and pkcs11js pads a
  // short label with NULs, not with blanks (§5.5).
  withSoPin(() => {
    module.lib.C_InitToken(handle, soPin, wanted.label + ' '.repeat(labelBytes - Buffer.byteLength(wanted.label)));
  });
  // Modules may renumber the slots: from here on the token is found by its label.
  const made = presentTokens(reportSlots(module.lib)).filter(({ token }) => token.label === wanted.label.trim());
  const [only] = made;
  if (only === undefined || made.length > 1) throw new TokenFailure('unreachable', 'the token was initialised but cannot be found again');
  setUserPin(slotAt(module, only.slot), soPin, pin);
  // No slot number: some modules give the slot another one when they are loaded again.
  return { label: only.token.label, serial: only.token.serial };
}

/** Returns the slot to initialise. @throws {TokenFailure} if it must not be initialised */
function chooseSlot(slots: readonly SlotReport[], wanted: Initialisation): Present {
  const tokens = presentTokens(slots);
  const named = tokens.filter(({ token }) => isInitialised(token) && token.label === wanted.label.trim());
  if (wanted.slot !== undefined) {
    const target = tokens.find(({ slot }) => slot === wanted.slot);
    if (target === undefined) throw new TokenFailure('unreachable', `there is no token in slot ${wanted.slot}`);
    if (named.some(({ slot }) => slot !== target.slot)) throw labelTaken(wanted.label);
    if (isInitialised(target.token)) checkConfirmed(target, wanted);
    return target;
  }
  const [known] = named;
  if (known !== undefined) {
    if (named.length > 1) throw new TokenFailure('refused', `${named.length} tokens have this label; choose one with --slot`);
    checkConfirmed(known, wanted);
    return known;
  }
  if (wanted.reinitialise) throw new TokenFailure('refused', 'no initialised token has this label; choose a token with --slot');
  const free = tokens.filter(({ token }) => !isInitialised(token));
  const [first] = free;
  if (first === undefined) throw new TokenFailure('refused', 'every token present is already initialised');
  if (free.length > 1) {
    throw new TokenFailure('refused', `slots ${free.map(({ slot }) => slot).join(', ')} hold uninitialised tokens; choose one with --slot`);
  }
  return first;
}

/**
 * Initialising a token again erases everything on it.
 * @throws {TokenFailure} unless this was confirmed
 */
function checkConfirmed({ slot, token }: Present, { reinitialise, confirm }: Initialisation): void {
  const which = `the token "${token.label}" (slot ${slot}, serial ${token.serial})`;
  if (!reinitialise) {
    throw new TokenFailure('refused', `${which} is already initialised; --reinitialise --confirm <its label> erases it with all its keys`);
  }
  if (confirm !== token.label) {
    throw new TokenFailure('refused', `to erase ${which} with all its keys, type its label again: --confirm <its label>`);
  }
}

function setUserPin(slot: Slot, soPin: string, pin: string): void {
  const session = slot.open(SessionFlag.SERIAL_SESSION | SessionFlag.RW_SESSION);
  try {
    session.login(soPin, UserType.SO);
    session.initPin(pin);
  } finally {
    session.close();
  }
}

/** Reports a refused SO PIN: an initialised token accepts only its own. */
function withSoPin(use: () => void): void {
  try {
    use();
  } catch (error) {
    if (!pinIsRefused(pkcs11Code(error))) throw error;
    throw new TokenFailure('pinRefused', 'the token refuses the SO PIN; it was tried once, and nothing was changed');
  }
}

function slotAt(module: Module, number: string): Slot {
  const slots = module.getSlots(true);
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots.items(index);
    if (slotNumber(slot.handle) === number) return slot;
  }
  throw new TokenFailure('unreachable', `the token in slot ${number} is gone`);
}

function presentTokens(slots: readonly SlotReport[]): Present[] {
  return slots.flatMap((slot) => (slot.token === null ? [] : [{ ...slot, token: slot.token }]));
}

function isInitialised({ flags }: Present['token']): boolean {
  return flags.includes('initialised');
}

function labelTaken(label: string): TokenFailure {
  return new TokenFailure('refused', `another token already has the label "${label}"; signetd finds its token by the label`);
}
