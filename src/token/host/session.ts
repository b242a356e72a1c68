import { createRequire } from 'node:module';
import type * as pkcs11 from 'pkcs11js';
import { ckr } from '../pkcs11-faults.ts';

// pkcs11js is CommonJS and adds its constants at run time, which named ESM imports do not see.
const load = createRequire(import.meta.url);
export const pkcs11js = load('pkcs11js') as typeof pkcs11;

/** One PKCS#11 session of one thread, and the module it belongs to. */
export interface Session {
  readonly module: pkcs11.PKCS11;
  readonly handle: pkcs11.Handle;
}

/**
 * Returns the options of C_Initialize.
 * @param libraryParameters text that the module needs, as NSS does (`LibraryParameters`)
 */
export function initializeOptions(libraryParameters: string | undefined): pkcs11.InitializationOptions {
  return { flags: pkcs11js.CKF_OS_LOCKING_OK, ...(libraryParameters === undefined ? {} : { libraryParameters }) };
}

/**
 * Loads the module in this thread. Later threads of a process find it initialised, which is not an
 * error.
 */
export function loadModule(path: string, libraryParameters?: string): pkcs11.PKCS11 {
  const module = new pkcs11js.PKCS11();
  module.load(path);
  try {
    module.C_Initialize(initializeOptions(libraryParameters));
  } catch (error) {
    if (pkcs11Code(error) !== ckr.CRYPTOKI_ALREADY_INITIALIZED) throw error;
  }
  return module;
}

/**
 * Returns the slot of the token with this label. A slot that cannot be read is another one's, unless
 * none has the label.
 * @throws {Error} if no token, or more than one, has the label
 */
export function slotOf(module: pkcs11.PKCS11, tokenLabel: string): pkcs11.Handle {
  let fault: Error | undefined;
  const slots = module.C_GetSlotList(true).filter((slot) => {
    try {
      return unpadded(module.C_GetTokenInfo(slot).label) === tokenLabel;
    } catch (error) {
      fault ??= error instanceof Error ? error : new Error(String(error));
      return false;
    }
  });
  const [slot] = slots;
  if (slot === undefined && fault !== undefined) throw fault;
  if (slot === undefined || slots.length > 1) {
    throw new Error(`${slots.length === 0 ? 'no token' : `${slots.length} tokens`} with the label "${tokenLabel}" found (token.label)`);
  }
  return slot;
}

/**
 * Returns a text of fixed length without its padding: blanks (PKCS#11 v2.40 §3.2), in some modules
 * NUL.
 */
export function unpadded(text: string): string {
  return text.replaceAll(/^\s+|[\0\s]+$/g, '');
}

export function openSession(module: pkcs11.PKCS11, slot: pkcs11.Handle): Session {
  return { module, handle: module.C_OpenSession(slot, pkcs11js.CKF_SERIAL_SESSION | pkcs11js.CKF_RW_SESSION) };
}

/**
 * Returns the CKR_ code of an error that pkcs11js threw; some of its calls carry it only in the
 * message.
 */
export function pkcs11Code(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'number') return error.code;
  const digits = /CKR_[A-Z_]+:(\d+)/.exec(error.message)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
