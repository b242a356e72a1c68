import { readFileSync } from 'node:fs';
import { ConfigError } from '../config/config.ts';

/** The PEM of the authorities that a gateway's certificate is judged by. @throws {ConfigError} */
export function readAuthority(path: string, section: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  } catch (error) {
    throw new ConfigError(`${section}.certificateAuthority: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new ConfigError(`${section}.certificateAuthority: ${path}: no certificate in PEM is in this file`);
}
