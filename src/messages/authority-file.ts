import { readFileSync } from 'node:fs';
import { ConfigError } from '../config/config.ts';

/**
 * Reads the PEM file of the authorities trusted for a gateway's certificate.
 * @throws {ConfigError}
 */
export function readAuthority(path: string, section: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  } catch (error) {
    throw new ConfigError(`${section}.certificateAuthority: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new ConfigError(`${section}.certificateAuthority: ${path}: the file contains no PEM certificate`);
}
