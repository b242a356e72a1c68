/** PKCS#11 return codes (v2.40 §5.1, values from pkcs11t.h) on which the token layer decides. */
export const ckr = {
  HOST_MEMORY: 0x02,
  GENERAL_ERROR: 0x05,
  FUNCTION_FAILED: 0x06,
  ATTRIBUTE_VALUE_INVALID: 0x13,
  DEVICE_ERROR: 0x30,
  DEVICE_MEMORY: 0x31,
  DEVICE_REMOVED: 0x32,
  KEY_HANDLE_INVALID: 0x60,
  OBJECT_HANDLE_INVALID: 0x82,
  MECHANISM_INVALID: 0x70,
  OPERATION_ACTIVE: 0x90,
  PIN_INCORRECT: 0xa0,
  PIN_INVALID: 0xa1,
  PIN_LEN_RANGE: 0xa2,
  PIN_EXPIRED: 0xa3,
  PIN_LOCKED: 0xa4,
  SESSION_CLOSED: 0xb0,
  SESSION_HANDLE_INVALID: 0xb3,
  SIGNATURE_INVALID: 0xc0,
  SIGNATURE_LEN_RANGE: 0xc1,
  TEMPLATE_INCONSISTENT: 0xd1,
  TOKEN_NOT_PRESENT: 0xe0,
  TOKEN_NOT_RECOGNIZED: 0xe1,
  USER_ALREADY_LOGGED_IN: 0x100,
  USER_NOT_LOGGED_IN: 0x101,
  CRYPTOKI_NOT_INITIALIZED: 0x190,
  CRYPTOKI_ALREADY_INITIALIZED: 0x191,
} as const;

/**
 * Codes after which the module, its sessions or its login are lost, or may be: only a new process
 * recovers them.
 */
const faultsOfTheHost: ReadonlySet<number> = new Set([
  ckr.HOST_MEMORY,
  ckr.GENERAL_ERROR,
  ckr.FUNCTION_FAILED,
  ckr.DEVICE_ERROR,
  ckr.DEVICE_MEMORY,
  ckr.DEVICE_REMOVED,
  ckr.SESSION_CLOSED,
  ckr.SESSION_HANDLE_INVALID,
  ckr.TOKEN_NOT_PRESENT,
  ckr.TOKEN_NOT_RECOGNIZED,
  ckr.USER_NOT_LOGGED_IN,
  ckr.CRYPTOKI_NOT_INITIALIZED,
]);

export function hostIsFaultyAfter(code: number): boolean {
  return faultsOfTheHost.has(code);
}

/** Whether a key's handle is no longer valid and the key must be looked up again. */
export function handleIsStale(code: number | undefined): boolean {
  return code === ckr.KEY_HANDLE_INVALID || code === ckr.OBJECT_HANDLE_INVALID;
}

/**
 * What SoftHSM 2.6.1 answers if another thread destroys or searches keys while it makes one, and
 * what the host says of a key that lacks attributes.
 */
const passingFaultsOfGeneration: ReadonlySet<number> = new Set([ckr.GENERAL_ERROR, ckr.FUNCTION_FAILED, ckr.TEMPLATE_INCONSISTENT]);

/** Whether making a key may have failed only because of what another thread did meanwhile. */
export function generationMayPass(code: number | undefined): boolean {
  return code !== undefined && passingFaultsOfGeneration.has(code);
}

/**
 * ATTRIBUTE_READ_ONLY, ACTION_PROHIBITED, FUNCTION_NOT_SUPPORTED, TEMPLATE_INCONSISTENT: tokens use
 * different codes to refuse a change to a key.
 */
const refusalsOfChange: ReadonlySet<number> = new Set([0x10, 0x1b, 0x54, ckr.TEMPLATE_INCONSISTENT]);

export function changeIsRefused(code: number | undefined): boolean {
  return code !== undefined && refusalsOfChange.has(code);
}

/**
 * ARGUMENTS_BAD, MECHANISM_INVALID, MECHANISM_PARAM_INVALID: codes for a mechanism, or parameters,
 * that the token does not support.
 */
const refusalsOfMechanism: ReadonlySet<number> = new Set([0x07, ckr.MECHANISM_INVALID, 0x71]);

export function mechanismIsRefused(code: number): boolean {
  return refusalsOfMechanism.has(code);
}

/** Whether the token refused the PIN: another attempt would bring it closer to being locked. */
export function pinIsRefused(code: number | undefined): boolean {
  return code !== undefined && code >= ckr.PIN_INCORRECT && code <= ckr.PIN_LOCKED;
}
