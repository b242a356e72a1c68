import { readFileSync } from 'node:fs';
import { checkAuthorityKey, loadAuthority, readChain } from '../../certificates/configured-authority.ts';
import type { RehearsingIssuer } from '../../certificates/issue.ts';
import { checkProfiles } from '../../certificates/profile-check.ts';
import { readCertificateText } from '../../x509/certificate.ts';
import { ConfigError, type Config } from '../../config/config.ts';
import { loadTimeStampSigner } from '../../timestamp/load-signer.ts';
import { connectToHost } from '../../token/operator/host-questions.ts';
import { TokenClient } from '../../token/client/token-client.ts';
import { answerMs } from '../token/token-access.ts';
import { faultText, type Findings } from './findings.ts';
import { checkValidity, readCertificates } from './tls-checks.ts';

type Authorities = Config['certificateAuthorities'];

/** The files of each certificate authority parse, are valid now, and are a chain. */
export function checkAuthorities(findings: Findings, authorities: Authorities): void {
  for (const [name, { certificate, chain, crossCertificates }] of Object.entries(authorities)) {
    const place = findings.at(`certificateAuthorities.${name}`);
    const found = [certificate, ...chain].map((file) => {
      const [first] = place.tryTo(() => readCertificates(file)) ?? [];
      if (first === undefined) return undefined;
      if (!first.ca) place.fault(`${file}: this is not the certificate of a certificate authority`);
      checkValidity(place, file, first);
      return first;
    });
    for (const file of crossCertificates) place.tryTo(() => readCertificates(file));
    if (!found.includes(undefined)) place.tryTo(() => readChain({ certificate, chain }));
  }
}

/** Each tenant's profile gives certificates that pass the lint; where the authority's certificate can be read. */
export function checkTenantProfiles(findings: Findings, { tenants, certificateAuthorities }: Config): void {
  const authorities = new Map<string, RehearsingIssuer>();
  for (const [name, { certificate, urls }] of Object.entries(certificateAuthorities)) {
    try {
      // Which algorithm it signs with changes nothing that the lint looks at.
      authorities.set(name, { certificate: readCertificateText(readFileSync(certificate)), signatureAlgorithm: 'ecdsaWithSHA256', urls });
    } catch {
      // Said of the authority already.
    }
  }
  try {
    checkProfiles(tenants, authorities);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    findings.faults.push(...error.message.split('\n').map((line) => `${findings.configPath}: ${line}`));
  }
}

/** The keys of the certificate authorities and of the time-stamp authority are on the token; only where the token host runs. */
export async function checkAuthorityKeys(findings: Findings, config: Config): Promise<void> {
  const { certificateAuthorities, timeStampAuthority } = config;
  if (findings.faults.length > 0 || (Object.keys(certificateAuthorities).length === 0 && timeStampAuthority === undefined)) return;
  const place = findings.at('certificateAuthorities');
  let host: Awaited<ReturnType<typeof connectToHost>>;
  try {
    host = await connectToHost(config.token.socketPath, answerMs(config.token));
  } catch (error) {
    place.note(`the keys on the token are not checked: ${faultText(error)}`);
    return;
  }
  if (host === undefined) {
    place.note('the keys on the token are not checked: the token host does not run');
    return;
  }
  host.close();
  const silent = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined };
  const token = new TokenClient({ ...config.token, host: 'external' }, findings.configPath, silent);
  try {
    await token.start();
    const checks = Object.entries(certificateAuthorities).map(
      ([name, files]) =>
        async () =>
          checkAuthorityKey(`certificateAuthorities.${name}`, loadAuthority(token, files)),
    );
    if (timeStampAuthority !== undefined)
      checks.push(async () => checkAuthorityKey('timeStampAuthority', loadTimeStampSigner(token, timeStampAuthority)));
    for (const check of checks) {
      try {
        await check();
      } catch (error) {
        findings.faults.push(`${findings.configPath}: ${faultText(error)}`);
      }
    }
  } finally {
    await token.stop();
  }
}
