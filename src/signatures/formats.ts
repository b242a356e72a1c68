import { Refusal } from '../result-codes.ts';
import { cmsEntry } from './cms/cms-entry.ts';
import type { AskedSignature, FormatEntry, RequestRules } from './format-entry.ts';
import { rawEntry } from './raw/raw-entry.ts';
import type { SignatureParameters } from './request/parameters.ts';
import { xp7At, xp7Level } from './request/xp7-asked.ts';

/** The table of formats, by the names under which sessions store them. */
const table = {
  raw: rawEntry,
  cms: cmsEntry,
} as const;

export type FormatName = keyof typeof table;

/** The formats. Only an entry's own functions create its parameters and its state. */
export const formats: Readonly<Record<FormatName, FormatEntry<unknown, unknown>>> = table;

// The keys of the table are its names.
export const formatNames = Object.keys(table) as readonly FormatName[];

/** The requested signature and its format. */
export interface AskedFormat extends AskedSignature {
  readonly format: FormatName;
}

/**
 * Finds the format that the parameters ask for and reads them.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function askedFormat(parameters: SignatureParameters, rules: RequestRules): AskedFormat {
  const given = Object.entries(parameters).flatMap(([name, member]) => (member === undefined ? [] : [name]));
  const [member, ...others] = given;
  if (member === undefined || others.length > 0) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: '/parameters',
      message: `exactly one of rawSignature, code2DDocSignature, envelopedXAdESSignature, XP7Signature is required; the request has ${given.length}`,
    });
  }
  for (const format of formatNames) {
    const asked = formats[format].asked(parameters, rules);
    if (asked !== undefined) return { ...asked, format };
  }
  const { XP7Signature } = parameters;
  if (XP7Signature !== undefined) xp7Level(XP7Signature, rules);
  throw new Refusal('UNSUPPORTED', {
    at: XP7Signature === undefined ? `/parameters/${member}` : `${xp7At}/XP7Format`,
    message: `not supported by this version; supported: ${formatNames.map((name) => formats[name].title).join('; ')}`,
  });
}
