import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { Switch } from '../config/reloader.ts';
import type { Config } from '../config/config.ts';

type TlsFiles = Pick<Config['listeners']['api'], 'certificate' | 'key' | 'clientCertificateAuthority'>;

/** What the API listener is made of, and what replaces it. No ticket keys: a new context takes back no session of the one before. */
export function readTlsMaterial({ certificate, key, clientCertificateAuthority }: TlsFiles) {
  return {
    cert: readFileSync(certificate),
    key: readFileSync(key),
    ca: readFileSync(clientCertificateAuthority),
    minVersion: 'TLSv1.2',
  } as const;
}

/** Reads the files anew; connections that are made after the switch go by them. @throws {Error} where they do not parse or belong together */
export function prepareTls(server: Server, files: TlsFiles): Switch {
  let material: ReturnType<typeof readTlsMaterial>;
  try {
    material = readTlsMaterial(files);
    createSecureContext(material);
  } catch (error) {
    throw new Error(`listeners.api: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return () => {
    server.setSecureContext(material);
  };
}
