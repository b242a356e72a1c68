import type { z } from 'zod';
import type { ClaimMapping } from '../../config/identity-provider-config.ts';
import { attributeTypeOfName } from '../attribute-types.ts';
import { Pkcs10 } from '../pkcs10.ts';
import { refusedToken } from './compact.ts';

export type Claims = Readonly<Record<string, unknown>>;
export type RequestedSubject = z.output<typeof Pkcs10>;

/** Claims that say whether an address is verified (OpenID Connect Core 1.0 §5.1). */
const verifiedBy: ReadonlyMap<string, string> = new Map([
  ['email', 'email_verified'],
  ['phone_number', 'phone_number_verified'],
]);

/**
 * Returns the subject that the claims of a verified token request, in the form of a request. A
 * claim that is absent, null or empty leaves its field out.
 * @throws {Refusal} ISSUANCE_REFUSED for claims that cannot form a certificate; the message names
 *   the field and the claims, not their values
 */
export function requestedBy(claims: Claims, mapping: ClaimMapping, defaultCountry: string | undefined): RequestedSubject {
  const { organizationUnit: unitSources, ...textSources } = mapping.subject;
  const subject = compact({
    ...Object.fromEntries(Object.entries(textSources).map(([field, sources]) => [field, textFrom(sources, claims)])),
    organizationUnit: unitsFrom(unitSources, claims),
  });
  const nameField = Object.entries(mapping.nameFields).flatMap(([identifier, sources]) => {
    const value = textFrom(sources, claims);
    const identifierType = attributeTypeOfName(identifier) === undefined ? 'OID' : 'NAME';
    return value === undefined ? [] : [{ identifier, identifierType, value }];
  });
  const email = textFrom(mapping.subjectAlternativeName.RFC822Name, claims);
  const required = ['country', 'commonName'].find(
    (field) => subject[field] === undefined && (field !== 'country' || defaultCountry === undefined),
  );
  if (required !== undefined) throw unfit(['subject', required], mapping, 'required, but no claim provides it');
  const parsed = Pkcs10.safeParse({
    subject: { country: defaultCountry, ...subject, ...(nameField.length === 0 ? {} : { fields: { nameField } }) },
    attributes: {
      subscriber: compact({
        emailAddress: textFrom(mapping.subscriber.emailAddress, claims),
        phoneNumber: textFrom(mapping.subscriber.phoneNumber, claims),
      }),
      ...(email === undefined ? {} : { extensionRequest: { subjectAlternativeName: { generalName: [{ RFC822Name: email }] } } }),
    },
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unfit(issue?.path.map(String) ?? [], mapping, issue?.message ?? 'invalid');
}

function unfit(path: readonly string[], mapping: ClaimMapping, fault: string) {
  return refusedToken(`cannot make a certificate from the claims: ${path.join('.')}${originOf(path, mapping)}: ${fault}`);
}

/** Returns the claims that a field is made of, for a message. */
function originOf([part, field = '']: readonly string[], { subject }: ClaimMapping): string {
  const sources: readonly string[] = (part === 'subject' ? Object.entries(subject).find(([name]) => name === field)?.[1] : undefined) ?? [];
  return sources.length === 0 ? '' : ` (from ${sources.join(' or ')})`;
}

/** Returns the text of the first template whose claims are all present. */
function textFrom(sources: readonly string[], claims: Claims): string | undefined {
  for (const template of sources) {
    const text = filled(template, claims);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** As `textFrom`, but one claim may be a list. */
function unitsFrom(sources: readonly string[], claims: Claims): string[] | undefined {
  for (const template of sources) {
    const [, only] = /^\{([^{}]+)\}$/.exec(template) ?? [];
    const value = only === undefined ? undefined : claimAt(only, claims);
    if (Array.isArray(value) && only !== undefined) return value.flatMap((one: unknown) => claimText(one, only) ?? []);
    const text = filled(template, claims);
    if (text !== undefined) return [text];
  }
  return undefined;
}

function filled(template: string, claims: Claims): string | undefined {
  let isWhole = true;
  const text = template.replaceAll(/\{([^{}]+)\}/g, (_braces, name: string) => {
    const flag = verifiedBy.get(name);
    const value = claimText(claimAt(name, claims), name);
    if (value === undefined) isWhole = false;
    else if (flag !== undefined && isFalse(claims[flag])) throw refusedToken(`the claim ${name} is not verified: ${flag} is false`);
    return value ?? '';
  });
  return isWhole ? text : undefined;
}

/** Checks whether a value is false; some providers write booleans as text. */
function isFalse(value: unknown): boolean {
  return value === false || value === 'false';
}

/** Returns a top-level claim by its name, or a nested one by its JSON Pointer. */
function claimAt(name: string, claims: Claims): unknown {
  if (!name.startsWith('/')) return Object.hasOwn(claims, name) ? claims[name] : undefined;
  let value: unknown = claims;
  for (const part of name.slice(1).split('/')) {
    const member = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return undefined;
    value = Object.entries(value).find(([key]) => key === member)?.[1];
  }
  return value;
}

function claimText(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  throw refusedToken(`the claim ${name} is neither a string nor an integer`);
}

function compact(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
