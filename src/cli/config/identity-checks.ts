import { tenantId } from '../../clients/caller.ts';
import type { Config } from '../../config/config.ts';
import { readDigitalIdentity } from '../../twoddoc/identities/digital-identity.ts';
import type { Findings } from './findings.ts';
import { checkValidity, readCertificates } from './tls-checks.ts';

/**
 * Checks that the certificate of each digital identity of 2D-Doc can be used and is currently
 * valid. Whether it matches the key is shown by `twoddoc identity list`.
 */
export function checkDigitalIdentities(findings: Findings, tenants: Config['tenants']): void {
  for (const [name, { twoDDoc }] of Object.entries(tenants)) {
    for (const [index, identity] of twoDDoc.identities.entries()) {
      const place = findings.at(`tenants.${name}.twoDDoc.identities.${index}`);
      if (place.tryTo(() => readDigitalIdentity(tenantId(name), identity)) === undefined) continue;
      const [certificate] = readCertificates(identity.certificate);
      if (certificate !== undefined) checkValidity(place, identity.certificate, certificate);
    }
  }
}
