import type { z } from 'zod';
import { CaIdentifier, CertificateIdentifier, DocumentTypeCode } from '../../config/two-d-doc-config.ts';
import { isSignedType } from '../../twoddoc/identities/digital-identity.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';

/** Options that name a digital identity. */
export interface IdentityOptions {
  readonly tenant: string;
  readonly ca: string;
  readonly certificateId: string;
}

/** @throws {CommandError} if an identifier does not have its form */
export function checkIdentity({ ca, certificateId }: IdentityOptions): void {
  check(CaIdentifier, ca, '--ca');
  check(CertificateIdentifier, certificateId, '--certificate-id');
}

/** Returns the codes of a comma-separated list. @throws {CommandError} */
export function typesOf(text: string | undefined): string[] | undefined {
  const types = text?.split(',').map((code) => code.trim());
  for (const type of types ?? []) {
    check(DocumentTypeCode, type, '--types');
    if (!isSignedType(type)) throw new CommandError(exitCodes.usage, `--types: there are no documents of type ${type} that can be signed`);
  }
  return types;
}

/**
 * Returns the number of the organisation: SIREN or SIRET, one of them.
 * @throws {CommandError} if both or none are given, or the check digit is wrong
 */
export function registrationOf({ siren, siret }: { readonly siren?: string | undefined; readonly siret?: string | undefined }): string {
  if ((siren === undefined) === (siret === undefined)) throw new CommandError(exitCodes.usage, 'give either --siren or --siret');
  const [option, given, length] = siren === undefined ? ['--siret', siret ?? '', 14] : ['--siren', siren, 9];
  const digits = given.replaceAll(' ', '');
  if (!/^\d+$/.test(digits) || digits.length !== length) throw new CommandError(exitCodes.usage, `${option} takes ${length} digits`);
  if (!hasCheckDigit(digits)) throw new CommandError(exitCodes.usage, `${option}: the check digit of ${digits} is wrong`);
  return digits;
}

/**
 * Establishments of La Poste have this SIREN; the digits of their SIRET add up to a multiple of 5.
 */
const laPoste = '356000000';

/** Luhn's formula (ISO/IEC 7812-1), which the numbers of the SIRENE register follow. */
function hasCheckDigit(digits: string): boolean {
  const values = Array.from(digits, Number).toReversed();
  const doubled = values.map((value, place) => (place % 2 === 0 ? value : value < 5 ? 2 * value : 2 * value - 9));
  if (sum(doubled) % 10 === 0) return true;
  return digits.length === 14 && digits.startsWith(laPoste) && sum(values) % 5 === 0;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function check(schema: z.ZodType, value: string, option: string): void {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new CommandError(exitCodes.usage, `${option}: ${parsed.error.issues[0]?.message ?? 'it cannot be used'}`);
}
