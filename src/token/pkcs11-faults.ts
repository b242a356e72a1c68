/** PKCS#11 return codes (v2.40 §5.1, values from pkcs11t.h) on which the token layer decides. */
export const ckr = {
  ARGUMENTS_BAD: 0x07,
  HOST_MEMORY: 0x02,
  GENERAL_ERROR: 0x05,
  FUNCTION_FAILED: 0x06,
  ATTRIBUTE_READ_ONLY: 0x10,
  ATTRIBUTE_TYPE_INVALID: 0x12,
  ATTRIBUTE_VALUE_INVALID: 0x13,
  ACTION_PROHIBITED: 0x1b,
  DATA_INVALID: 0x20,
  DATA_LEN_RANGE: 0x21,
  DEVICE_ERROR: 0x30,
  DEVICE_MEMORY: 0x31,
  DEVICE_REMOVED: 0x32,
  FUNCTION_NOT_SUPPORTED: 0x54,
  KEY_HANDLE_INVALID: 0x60,
  KEY_SIZE_RANGE: 0x62,
  KEY_TYPE_INCONSISTENT: 0x63,
  KEY_FUNCTION_NOT_PERMITTED: 0x68,
  OBJECT_HANDLE_INVALID: 0x82,
  MECHANISM_INVALID: 0x70,
  MECHANISM_PARAM_INVALID: 0x71,
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
  TEMPLATE_INCOMPLETE: 0xd0,
  TEMPLATE_INCONSISTENT: 0xd1,
  TOKEN_NOT_PRESENT: 0xe0,
  TOKEN_NOT_RECOGNIZED: 0xe1,
  USER_ALREADY_LOGGED_IN: 0x100,
  USER_NOT_LOGGED_IN: 0x101,
  DOMAIN_PARAMS_INVALID: 0x130,
  CURVE_NOT_SUPPORTED: 0x140,
  CRYPTOKI_NOT_INITIALIZED: 0x190,
  CRYPTOKI_ALREADY_INITIALIZED: 0x191,
} as const;

/**
 * Codes after which the module, its sessions or its login are lost, or may be: only a new process
 * recovers them.
 */
const lossesOfTheHost: ReadonlySet<number> = new Set([
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

/** Those of them that a token answers too where it has no room for a key, or fails to make one. */
const faultsOfGeneration: ReadonlySet<number> = new Set([
  ckr.HOST_MEMORY,
  ckr.GENERAL_ERROR,
  ckr.FUNCTION_FAILED,
  ckr.DEVICE_ERROR,
  ckr.DEVICE_MEMORY,
]);

/**
 * Codes for what the request wants: a mechanism, parameters, data or a key that this token, or this
 * key, does not support. It would fail the same way at any time.
 */
const refusalsOfRequests: ReadonlySet<number> = new Set([
  ckr.ARGUMENTS_BAD,
  ckr.ATTRIBUTE_READ_ONLY,
  ckr.ATTRIBUTE_TYPE_INVALID,
  ckr.ATTRIBUTE_VALUE_INVALID,
  ckr.ACTION_PROHIBITED,
  ckr.DATA_INVALID,
  ckr.DATA_LEN_RANGE,
  ckr.FUNCTION_NOT_SUPPORTED,
  ckr.KEY_SIZE_RANGE,
  ckr.KEY_TYPE_INCONSISTENT,
  ckr.KEY_FUNCTION_NOT_PERMITTED,
  ckr.MECHANISM_INVALID,
  ckr.MECHANISM_PARAM_INVALID,
  ckr.TEMPLATE_INCOMPLETE,
  ckr.TEMPLATE_INCONSISTENT,
  ckr.DOMAIN_PARAMS_INVALID,
  ckr.CURVE_NOT_SUPPORTED,
]);

/** Whether the token does not support what the request wants. */
export function requestIsRefused(code: number): boolean {
  return refusalsOfRequests.has(code);
}

/**
 * `lost`: only another host recovers. `refused`: the request is at fault. `unknown`: codes of
 * vendors, and those that say nothing about the host; whether it still serves, only a trial shows.
 */
export type FaultKind = 'lost' | 'refused' | 'unknown';

/** @param makesKey whether the request was to make a key: what fails then need not be the host */
export function faultKindOf(code: number, { makesKey }: { readonly makesKey: boolean }): FaultKind {
  if (requestIsRefused(code)) return 'refused';
  if (makesKey && faultsOfGeneration.has(code)) return 'unknown';
  return lossesOfTheHost.has(code) ? 'lost' : 'unknown';
}

/** Whether a token that was to make a key may have no room for it. */
export function tokenIsFull(code: number | undefined): boolean {
  return code === ckr.DEVICE_MEMORY;
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

/** Tokens use different codes to refuse a change to a key. */
const refusalsOfChange: ReadonlySet<number> = new Set([
  ckr.ATTRIBUTE_READ_ONLY,
  ckr.ACTION_PROHIBITED,
  ckr.FUNCTION_NOT_SUPPORTED,
  ckr.TEMPLATE_INCONSISTENT,
]);

export function changeIsRefused(code: number | undefined): boolean {
  return code !== undefined && refusalsOfChange.has(code);
}

/** Whether the token refused the PIN: another attempt would bring it closer to being locked. */
export function pinIsRefused(code: number | undefined): boolean {
  return code !== undefined && code >= ckr.PIN_INCORRECT && code <= ckr.PIN_LOCKED;
}
