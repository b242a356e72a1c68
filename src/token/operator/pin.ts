import { readSecret } from '../../config/secret-reference.ts';
import { TokenFailure } from './token-failure.ts';

/** The PIN behind a reference. @throws {TokenFailure} that names the reference, never what it holds. */
export function pinFrom(reference: string): string {
  try {
    return readSecret(reference);
  } catch (error) {
    throw new TokenFailure('configuration', error instanceof Error ? error.message : String(error));
  }
}
