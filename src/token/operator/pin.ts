import { readSecretBytes } from '../../config/secret-reference.ts';
import { TokenFailure } from './token-failure.ts';

/** The PIN behind a reference, of whatever user: root runs signetctl, and the PIN is the service's. Who asks for it wipes it. @throws {TokenFailure} that names the reference, never what it holds. */
export function pinFrom(reference: string): Buffer {
  try {
    return readSecretBytes(reference, 'anyone');
  } catch (error) {
    throw new TokenFailure('configuration', error instanceof Error ? error.message : String(error));
  }
}
