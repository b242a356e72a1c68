import { readProvider } from '../../certificates/jwt/configured-providers.ts';
import type { Config } from '../../config/config.ts';
import { parseTokenJson } from '../../http/json/strict-json.ts';
import { faultText, type Findings } from './findings.ts';

/** The files of each identity provider are what they should be. Keys at a URL are fetched by the service alone. */
export function checkIdentityProviders(findings: Findings, providers: Config['identityProviders']): void {
  const silent = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined };
  for (const [name, config] of Object.entries(providers)) {
    // Secrets of the service may be for nobody else's eyes, root's neither (credentials of systemd).
    const visible = { ...config, decryptionKeys: [] };
    try {
      readProvider(name, visible, { log: silent, parseJson: parseTokenJson });
    } catch (error) {
      findings.faults.push(`${findings.configPath}: ${faultText(error)}`);
    }
  }
}
