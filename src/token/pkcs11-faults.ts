/** Codes of PKCS#11 (v2.40 §5.1, values of pkcs11t.h) that the token layer decides by. */
export const ckr = {
  HOST_MEMORY: 0x02,
  GENERAL_ERROR: 0x05,
  FUNCTION_FAILED: 0x06,
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
  TOKEN_NOT_PRESENT: 0xe0,
  TOKEN_NOT_RECOGNIZED: 0xe1,
  USER_ALREADY_LOGGED_IN: 0x100,
  USER_NOT_LOGGED_IN: 0x101,
  CRYPTOKI_NOT_INITIALIZED: 0x190,
  CRYPTOKI_ALREADY_INITIALIZED: 0x191,
} as const;

/** The module, its sessions or its login are gone, or may be: only a new process gets them back. */
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

/** The handle of a key is no longer good: the key is looked for once more. */
export function handleIsStale(code: number | undefined): boolean {
  return code === ckr.KEY_HANDLE_INVALID || code === ckr.OBJECT_HANDLE_INVALID;
}

/** ATTRIBUTE_READ_ONLY, ACTION_PROHIBITED, FUNCTION_NOT_SUPPORTED, TEMPLATE_INCONSISTENT: tokens say in different words that a key stays as it is. */
const refusalsOfChange: ReadonlySet<number> = new Set([0x10, 0x1b, 0x54, 0xd1]);

export function changeIsRefused(code: number | undefined): boolean {
  return code !== undefined && refusalsOfChange.has(code);
}

/** ARGUMENTS_BAD, MECHANISM_INVALID, MECHANISM_PARAM_INVALID: what tokens say of a mechanism, or of parameters, that they do not have. */
const refusalsOfMechanism: ReadonlySet<number> = new Set([0x07, ckr.MECHANISM_INVALID, 0x71]);

export function mechanismIsRefused(code: number): boolean {
  return refusalsOfMechanism.has(code);
}

/** Another try would bring the token nearer to its lock. */
export function pinIsRefused(code: number | undefined): boolean {
  return code !== undefined && code >= ckr.PIN_INCORRECT && code <= ckr.PIN_LOCKED;
}
