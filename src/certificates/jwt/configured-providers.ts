import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError } from '../../config/config-error.ts';
import type { IdentityProvider } from '../../config/identity-provider-config.ts';
import { OutgoingHttp } from '../../outgoing/outgoing-http.ts';
import type { Logger } from '../../telemetry/log.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { attributeTypeOfName, attributeTypeOfOid } from '../attribute-types.ts';
import type { ParseJson } from './compact.ts';
import { readDecryptionKeys } from './decrypt.ts';
import { KeySet } from './key-set.ts';
import { FetchedKeys, FileKeys, type ProviderKeys } from './provider-keys.ts';

/** An identity provider and the contents of the files that its section names. */
export interface Provider {
  readonly config: IdentityProvider;
  readonly keys: ProviderKeys;
  readonly decryptionKeys: readonly KeyObject[];
}

export interface ReadingOptions {
  readonly log: Logger;
  readonly parseJson: ParseJson;
  /** The provider before a reload. */
  readonly previous?: Provider | undefined;
}

/** Reads the files that a section names. @throws {ConfigError} if one is invalid */
export function readProvider(name: string, config: IdentityProvider, options: ReadingOptions): Provider {
  const at = `identityProviders.${name}`;
  for (const identifier of Object.keys(config.claims.nameFields)) {
    if ((attributeTypeOfName(identifier) ?? attributeTypeOfOid(identifier)) !== undefined) continue;
    throw new ConfigError(
      `${at}.claims.nameFields: the attribute "${identifier}" is neither an attribute of RFC 4519 nor the OID of a text attribute`,
    );
  }
  return {
    config,
    keys: reading(`${at}.keys`, () => keysOf(config, options)),
    decryptionKeys: reading(`${at}.decryptionKeys`, () => readDecryptionKeys(config.decryptionKeys)),
  };
}

function keysOf({ keys }: IdentityProvider, { log, parseJson, previous }: ReadingOptions): ProviderKeys {
  const read = (document: Buffer): KeySet => new KeySet(document, parseJson);
  if ('file' in keys) return new FileKeys(keys.file, read, log);
  const { url, certificateAuthority: file, timeoutSeconds, maxBytes, ...times } = keys;
  const certificateAuthority = file === undefined ? undefined : readFileSync(file, 'utf8');
  if (certificateAuthority?.includes('-----BEGIN CERTIFICATE-----') === false)
    throw new Error(`${file}: the file contains no PEM certificate`);
  const source = JSON.stringify([keys, certificateAuthority]);
  if (previous?.keys instanceof FetchedKeys && previous.keys.source === source) return previous.keys;
  const http = OutgoingHttp.toConfiguredServer({ timeoutSeconds, connectionsMax: 1, certificateAuthority });
  const headers = { Accept: 'application/jwk-set+json, application/json' };
  const fetch = async (): Promise<Buffer> => {
    const { body } = await http.fetch({ url: new URL(url), method: 'GET', headers, answerMaxBytes: maxBytes });
    return Buffer.from(body);
  };
  return new FetchedKeys({ url, source, fetch, read, log }, times);
}

/** Runs the work and adds the setting to its error. @throws {ConfigError} */
function reading<T>(at: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new ConfigError(`${at}: ${reasonOf(error)}`);
  }
}
