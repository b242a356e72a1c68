import { ConfigError, type Config } from '../config/config.ts';
import { Refusal } from '../result-codes.ts';
import { certificateExtensions } from './extensions.ts';
import { rehearse, type RehearsingIssuer } from './issue.ts';
import { checkSubject, SubjectRulesError } from './subject-rules.ts';
import { subjectName } from './subject.ts';

const minuteMs = 60_000;
const subject = { country: 'FR', commonName: 'Profile check' } as const;

/**
 * Whether each tenant's profile gives certificates that pass the lint, and names attributes that exist: told at the start, not by the first request.
 * Authorities that are not given are passed over.
 * @throws {ConfigError} a line a fault
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

/** What the rules refuse of this subject is no fault of theirs. */
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
