import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import { Refusal } from '../result-codes.ts';
import { certificateExtensions } from './extensions.ts';
import { rehearse, type RehearsingIssuer } from './issue.ts';
import { checkSubject, SubjectRulesError } from './subject-rules.ts';
import { subjectName } from './subject.ts';

const minuteMs = 60_000;
const subject = { country: 'FR', commonName: 'Profile check' } as const;

/**
 * Checks at startup that each tenant's profile yields certificates that pass the lint and names
 * existing attributes. Tenants whose authority is not given are skipped.
 * @throws {ConfigError} with one line for each fault
 */
export function checkProfiles(tenants: Config['tenants'], authorities: ReadonlyMap<string, RehearsingIssuer>): void {
  const faults = Object.entries(tenants).flatMap(([name, tenant]) => {
    const issuer = authorities.get(tenant.certificateAuthority);
    const fault = issuer === undefined ? undefined : profileFault(tenant, issuer);
    return fault === undefined ? [] : [`tenants.${name}.profile: ${fault}`];
  });
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
}

function profileFault({ profile }: Config['tenants'][string], issuer: RehearsingIssuer): string | undefined {
  const { notBefore } = issuer.certificate;
  try {
    rehearse(issuer, profile.keyType, (publicKey) => ({
      subject: subjectName(subject),
      extensions: certificateExtensions(profile, issuer, publicKey, { subscriber: {} }, issuer.urls),
      notBefore,
      notAfter: new Date(notBefore.getTime() + minuteMs),
    }));
    return rulesFault(profile);
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

/** The rules may refuse this sample subject; that is not a fault of the rules. */
function rulesFault(profile: Config['tenants'][string]['profile']): string | undefined {
  try {
    checkSubject(profile, subject);
    return undefined;
  } catch (error) {
    if (error instanceof SubjectRulesError) return error.message;
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
