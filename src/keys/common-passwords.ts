import { dictionary } from '@zxcvbn-ts/language-common';

/** Words that a password may consist of, beside common ones: names that a guesser knows. */
export interface PasswordContext {
  readonly tenant: string;
  /** Name of the client. */
  readonly client: string;
  readonly emailAddress: string | undefined;
  readonly phoneNumber: string | undefined;
}

/** Shorter words are in too many good passwords. */
const wordMin = 4;
/** Digits and signs that people put after a word: a year, an exclamation mark. */
const tail = /[\d\p{P}\p{S}]{1,6}$/u;
const lookAlikes: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
};

const common: ReadonlySet<string> = new Set(dictionary['passwords-common'].filter(({ length }) => length >= wordMin));

/**
 * Returns why a new password would be among the first that are tried (NIST SP 800-63B §5.1.1.2), in
 * words for its owner; undefined if it would not. Case, compatible characters (NFKC), look-alikes
 * of letters, and up to six digits or signs at the end make no difference.
 */
export function commonPasswordFault(password: string, context: PasswordContext): string | undefined {
  const forms = formsOf(password);
  if (forms.some((form) => common.has(form))) return 'this is one of the passwords that are tried first';
  if (isRegular(fold(password))) return 'the password only repeats or counts characters';
  const words = new Set(contextWords(context));
  const bare = forms.map((form) => form.replaceAll(/[^\p{L}\p{N}]/gu, ''));
  if ([...forms, ...bare].some((form) => words.has(form))) return 'the password is a name or an address of the key';
  return undefined;
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().trim();
}

/** The password as a list may have it, with and without what people vary. */
function formsOf(password: string): string[] {
  const whole = fold(password);
  const word = whole.replace(tail, '');
  const forms = word.length >= wordMin ? [whole, word] : [whole];
  return [...forms, ...forms.map((form) => form.replaceAll(/[013457@$!]/g, (sign) => lookAlikes[sign] ?? sign))];
}

/**
 * Whether a unit of at most four ASCII characters is repeated, or every character follows the one
 * before. Few guess with others.
 */
function isRegular(text: string): boolean {
  const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  if (points.some((point) => point > 0x7f)) return false;
  const repeats = (unit: number): boolean => points.length > unit && points.every((point, index) => point === points[index % unit]);
  const steps = points.slice(1).map((point, index) => point - (points[index] ?? 0));
  return [1, 2, 3, 4].some(repeats) || steps.every((step) => step === 1) || steps.every((step) => step === -1);
}

function contextWords({ tenant, client, emailAddress, phoneNumber }: PasswordContext): string[] {
  const local = emailAddress?.split('@')[0];
  const digits = phoneNumber?.replaceAll(/\D/g, '');
  const words = ['signetd', tenant, client, emailAddress, local, phoneNumber, digits].flatMap((word) =>
    word === undefined ? [] : [fold(word)],
  );
  return [...words, ...words.map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, ''))].filter(({ length }) => length >= wordMin);
}
