/**
 * Exit codes of a host that cannot start. After `pinRefused` no other is started until an operator
 * intervenes.
 */
export const exitCodes = { capabilityMissing: 69, startFailed: 70, pinRefused: 77, configurationWrong: 78 } as const;

/**
 * Exit codes that report a fault of the token or the configuration: another start would fail the
 * same way.
 */
export const refusalExitCodes: readonly number[] = [exitCodes.capabilityMissing, exitCodes.pinRefused, exitCodes.configurationWrong];
