import { readFileSync } from 'node:fs';
import { checkAuthorityKey, loadAuthority, readChain } from '../../certificates/configured-authority.ts';
import type { RehearsingIssuer } from '../../certificates/issue.ts';
import { checkProfiles } from '../../certificates/profile-check.ts';
import { readCertificateText } from '../../x509/certificate.ts';
import type { Config } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { loadTimeStampSigner, readTimeStampChain } from '../../timestamp/load-signer.ts';
import { connectToHost } from '../../token/operator/host-questions.ts';
import { TokenClient } from '../../token/client/token-client.ts';
import { answerMs } from '../token/token-access.ts';
import { faultText, type Findings } from './findings.ts';
import { checkValidity, readCertificates } from './tls-checks.ts';
import { silentLog } from '../../telemetry/silent-log.ts';

type Authorities = Config['certificateAuthorities'];

/**
 * Checks that the files of each certificate authority parse, are currently valid, and form a chain.
 */
export function checkAuthorities(findings: Findings, authorities: Authorities): void {
  for (const [name, { certificate, chain, crossCertificates }] of Object.entries(authorities)) {
    const place = findings.at(`certificateAuthorities.${name}`);
    const found = [certificate, ...chain].map((file) => {
      const [first] = place.tryTo(() => readCertificates(file)) ?? [];
      if (first === undefined) return undefined;
      if (!first.ca) place.fault(`${file}: this is not a CA certificate`);
      checkValidity(place, file, first);
      return first;
    });
    for (const file of crossCertificates) place.tryTo(() => readCertificates(file));
    if (!found.includes(undefined)) place.tryTo(() => readChain({ certificate, chain }));
  }
}

/**
 * Checks that each tenant's profile produces certificates that pass the lint rules, if the
 * authority's certificate can be read.
 */
export function checkTenantProfiles(findings: Findings, { tenants, certificateAuthorities }: Config): void {
  const authorities = new Map<string, RehearsingIssuer>();
  for (const [name, { certificate, urls }] of Object.entries(certificateAuthorities)) {
    try {
      // The signature algorithm does not matter to the lint rules.
      authorities.set(name, { certificate: readCertificateText(readFileSync(certificate)), signatureAlgorithm: 'ecdsaWithSHA256', urls });
    } catch {
      // Already reported for the authority.
    }
  }
  try {
    checkProfiles(tenants, authorities);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const line of error.message.split('\n')) findings.addFault(line);
  }
}

/**
 * Checks that the keys of the certificate authorities and of the time-stamp authority are on the
 * token, if the token host is running.
 */
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
    place.note('the keys on the token are not checked: the token host is not running');
    return;
  }
  host.close();
  const token = new TokenClient({ ...config.token, host: 'external' }, findings.configPath, silentLog);
  try {
    await token.start();
    const checks = Object.entries(certificateAuthorities)
      .filter(([, { retired }]) => !retired)
      .map(
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
        findings.addFault(faultText(error));
      }
    }
  } finally {
    await token.stop();
  }
}

/**
 * Checks that the certificates of our own time-stamp authority parse, are currently valid, form a
 * chain, and that its certificate is for time-stamping.
 */
export function checkTimeStampAuthority(findings: Findings, { timeStampAuthority, listeners }: Config): void {
  if (timeStampAuthority === undefined) return;
  const place = findings.at('timeStampAuthority');
  const { certificate, chain, formerCertificates } = timeStampAuthority;
  const found = [certificate, ...chain].map((file) => {
    const [first] = place.tryTo(() => readCertificates(file)) ?? [];
    if (first !== undefined) checkValidity(place, file, first);
    return first;
  });
  for (const file of formerCertificates) place.tryTo(() => readCertificates(file));
  if (!found.includes(undefined)) place.tryTo(() => readTimeStampChain({ certificate, chain }));
  if (listeners.public === undefined) place.note('it serves only the signatures of signetd: listeners.public is not configured');
}
