import type { Config } from '../../config/config.ts';
import { readTimeStampChain } from '../../timestamp/load-signer.ts';
import type { Findings } from './findings.ts';
import { checkValidity, readCertificates } from './tls-checks.ts';

/** The certificates of the own time-stamp authority parse, are valid now, are a chain, and its own is for time-stamping. */
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
  if (listeners.public === undefined) place.note('it serves the signatures of signetd alone: there is no listeners.public');
}
