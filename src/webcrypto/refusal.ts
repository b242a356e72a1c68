import { reasonOf } from '../telemetry/reason-of.ts';
/** Names of the errors of the interface (W3C Web Cryptography §14.1, §18.3). */
export type RefusalName = 'DataError' | 'InvalidAccessError' | 'NotSupportedError' | 'OperationError' | 'SyntaxError';

export function refusal(name: RefusalName, message: string): DOMException {
  return new DOMException(message, name);
}

/**
 * Runs a call to the token; a failure becomes an OperationError with its reason as `cause`
 * (TokenUnavailable if the token is down).
 */
export async function onToken<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    const reason = reasonOf(cause);
    throw new DOMException(`the token operation failed: ${reason}`, { name: 'OperationError', cause });
  }
}
