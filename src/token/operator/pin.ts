import { readSecret } from '../../config/secret-reference.ts';
import { TokenFailure } from './token-failure.ts';

/** The PIN behind a reference. @throws {TokenFailure} that names the reference, never what it holds. */
export function pinFrom(reference: string): string {
  let pin: string;
  try {
    pin = readSecret(reference);
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new TokenFailure(
      'configuration',
      missing ? `${reference}: there is no such file` : error instanceof Error ? error.message : String(error),
    );
  }
  if (pin === '') throw new TokenFailure('configuration', `${reference}: it is empty`);
  return pin;
}
