import { Module, SessionFlag } from 'graphene-pk11';
import { loadTokenConfig } from '../../config/config.ts';
import { accountDirectoryOf } from '../../config/token-config.ts';
import { native } from '../../service/native.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { loadProfile, type ModuleProfile } from '../host/module-profile.ts';
import { fileToLoad } from '../host/prepare.ts';
import { probeToken } from '../host/probe.ts';
import { logInOnce, WrongPin } from '../host/pin.ts';
import { PinRefusedBefore, RefusedPin } from '../host/refused-pin.ts';
import { makeReport, type Outlook } from '../host/reports.ts';
import { initializeOptions, pkcs11Code, slotOf, type Session } from '../host/session.ts';
import { pinFaults } from '../host/start-conditions.ts';
import { becomeTokenOwner, isToBecomeTokenOwner } from '../host/token-owner.ts';
import { reportToken } from '../host/token-report.ts';
import { WireError } from '../wire/fields.ts';
import { moduleFaultWords, TokenFailure, pinFrom } from './token-failure.ts';
import { changePin } from './change-pin.ts';
import { initialise } from './initialise.ts';
import type { ModuleAnswer, ModuleQuestion } from './module-messages.ts';

/**
 * Process that opens the PKCS#11 module for signetctl while no token host is running. It answers
 * its parent and ends with it.
 */
native().guardMemory();
const config = loadTokenConfig(process.argv[2] ?? '');
const userPin = pinReader(config.pin);
const refused = new RefusedPin(accountDirectoryOf(config), 'service');
let loaded: Loaded | undefined;
let session: Session | undefined;

interface Loaded {
  readonly module: Module;
  /** The file from which it was loaded. */
  readonly path: string;
  readonly profile: ModuleProfile;
}

process.on('disconnect', () => process.exit(0));
process.on('message', (question: ModuleQuestion) => {
  process.send?.(answer(question));
});

function answer(question: ModuleQuestion): ModuleAnswer {
  try {
    if (question.kind === 'report') {
      loaded ??= load();
      return { value: makeReport(question.name, question.question, outlookOf(loaded)) };
    }
    if (question.kind === 'changePin') {
      const { newPin, isRepeated } = question.change;
      const readNew = pinReader(newPin);
      loaded ??= load();
      const [fault] = pinFaults(loaded.profile, readNew());
      if (fault !== undefined) throw new TokenFailure('configuration', fault);
      const slot = outlookOf(loaded).slot();
      changePin({ module: loaded.module.lib, slot, oldPin: userPin(), newPin: readNew(), refused, isRepeated });
      return { value: null };
    }
    const { initialisation } = question;
    const pins = { soPin: pinReader(initialisation.soPin), pin: pinReader(initialisation.pin) };
    loaded ??= load();
    return { value: initialise(loaded.module, initialisation, pins) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/**
 * Returns a function that reads a PIN. If this process is root only until it loads the module, the
 * PIN is read now, and a failure is reported to the caller that needs the PIN.
 */
function pinReader(reference: string): () => Buffer {
  if (!isToBecomeTokenOwner()) return () => pinFrom(reference);
  try {
    const pin = pinFrom(reference);
    // A login wipes what it gets, and another one may follow if it failed.
    return () => Buffer.from(pin);
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function load(): Loaded {
  let path: string;
  let profile: ModuleProfile;
  try {
    profile = loadProfile(config.profile);
    path = fileToLoad(config, profile);
  } catch (error) {
    throw new TokenFailure('unreachable', reasonOf(error));
  }
  try {
    becomeTokenOwner();
  } catch (error) {
    throw new TokenFailure('configuration', reasonOf(error));
  }
  try {
    const module = Module.load(path, config.profile);
    module.initialize(initializeOptions(config.libraryParameters ?? profile.libraryParameters));
    return { module, path, profile };
  } catch (error) {
    throw new TokenFailure('unreachable', `the PKCS#11 module ${path} cannot be loaded: ${moduleFaultWords(error).text}`);
  }
}

function outlookOf(used: Loaded): Outlook {
  const { module, profile } = used;
  const slot = (): Buffer => {
    try {
      return slotOf(module.lib, config.label);
    } catch (error) {
      throw pkcs11Code(error) === undefined ? new TokenFailure('unreachable', reasonOf(error)) : error;
    }
  };
  const openSession = (): Session => (session ??= openLoggedIn(used, slot()));
  return {
    module: module.lib,
    profile,
    slot,
    session: openSession,
    probe: (full) => probeToken(openSession(), slot(), profile, { full }).report,
  };
}

function openLoggedIn({ module, path, profile }: Loaded, slot: Buffer): Session {
  const { flags } = reportToken(module.lib, slot);
  if (!flags.includes('initialised')) throw new TokenFailure('unreachable', 'the token is not initialised: signetctl token init does that');
  if (flags.includes('userPinLocked')) throw new TokenFailure('pinRefused', 'the PIN is locked: the security officer must set a new one');
  if (flags.includes('userPinFinalTry')) {
    throw new TokenFailure(
      'pinRefused',
      'one more wrong PIN locks the token, so signetctl does not try; make sure that the PIN is correct first',
    );
  }
  const pin = userPin();
  const [pinFault] = pinFaults(profile, pin);
  if (pinFault !== undefined) throw new TokenFailure('configuration', pinFault);
  const slots = module.getSlots(true);
  for (let index = 0; index < slots.length; index += 1) {
    const candidate = slots.items(index);
    if (!candidate.handle.equals(slot)) continue;
    const opened = { module: module.lib, handle: candidate.open(SessionFlag.SERIAL_SESSION | SessionFlag.RW_SESSION).handle };
    logInOnce(opened, path, pin, { serial: module.lib.C_GetTokenInfo(slot).serialNumber, refused });
    return opened;
  }
  throw new TokenFailure('unreachable', 'the token is gone');
}

function failureOf(error: unknown): { kind: TokenFailure['kind']; text: string } {
  if (error instanceof TokenFailure) return { kind: error.kind, text: error.message };
  const text = reasonOf(error);
  if (error instanceof PinRefusedBefore || error instanceof WrongPin) return { kind: 'pinRefused', text };
  if (error instanceof WireError || error instanceof RangeError) return { kind: 'unreachable', text };
  return moduleFaultWords(error);
}
