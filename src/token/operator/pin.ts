import { readSecret } from '../../config/secret-reference.ts';
import { TokenFailure } from './token-failure.ts';

/** The PIN behind a reference, of whatever user: root runs signetctl, and the PIN is the service's. @throws {TokenFailure} that names the reference, never what it holds. */
export function pinFrom(reference: string): string {
  try {
    return readSecret(reference, 'anyone');
  } catch (error) {
    throw new TokenFailure('configuration', error instanceof Error ? error.message : String(error));
  }
}
