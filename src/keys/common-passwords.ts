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
/** Digits, signs and space that people put before and after a word: a date, exclamation marks. */
const head = /^[\d\p{P}\p{S}\s]{1,9}/u;
const tail = /[\d\p{P}\p{S}\s]{1,9}$/u;
const invisible = /\p{Default_Ignorable_Code_Point}/gu;
/** Fewer letters and digits between signs are not all that a password is. */
const bareMin = 8;
const regularUnitMax = 6;
const phoneDigitsMin = 8;
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
 * words for its owner; undefined if it would not. Case, compatible characters (NFKC), invisible ones,
 * look-alikes of letters, what is between letters, and up to nine digits, signs or spaces at each end
 * make no difference.
 */
export function commonPasswordFault(password: string, context: PasswordContext): string | undefined {
  const whole = fold(password);
  const bare = bareOf(whole);
  const forms = formsOf(whole, bare);
  if (forms.some((form) => common.has(form))) return 'this is one of the passwords that are tried first';
  if (isRegular(whole) || (bare.length >= bareMin && isRegular(bare))) return 'the password only repeats or counts characters';
  if (isDate(bare)) return 'the password is a date';
  const words = new Set(contextWords(context));
  if (forms.some((form) => words.has(form)) || isMadeOf(bare, words) || isPhoneNumber(bare, context))
    return 'the password is a name or an address of the key';
  return undefined;
}

function fold(text: string): string {
  return text.normalize('NFKC').replaceAll(invisible, '').toLowerCase().trim();
}

function bareOf(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** The password as a list may have it, with and without what people vary. */
function formsOf(whole: string, bare: string): string[] {
  const ends = [whole, bare].flatMap((form) => [form.replace(tail, ''), form.replace(head, ''), form.replace(head, '').replace(tail, '')]);
  const words = ends.flatMap((form) => [form, bareOf(form)]).filter(({ length }) => length >= wordMin);
  const forms = [...new Set([whole, bare, ...words])];
  return [...forms, ...forms.map((form) => form.replaceAll(/[013457@$!]/g, (sign) => lookAlikes[sign] ?? sign))];
}

/**
 * Whether at most six ASCII characters are repeated, or there are only two of them, or every one
 * follows the one before. Few guess with others.
 */
function isRegular(text: string): boolean {
  const points = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  if (points.some((point) => point > 0x7f)) return false;
  if (new Set(points).size <= 2) return true;
  const repeats = (unit: number): boolean => points.length > unit && points.every((point, index) => point === points[index % unit]);
  const isNumber = /^\d+$/.test(text);
  const steps = points.slice(1).map((point, index) => point - (points[index] ?? 0));
  // After 9 comes 0.
  const counts = (by: number): boolean => steps.every((step) => step === by || (isNumber && step === -9 * by));
  return Array.from({ length: regularUnitMax }, (_, index) => index + 1).some(repeats) || counts(1) || counts(-1);
}

/** Whether eight digits are a day of the years from 1900 to 2099, in one of the usual orders. */
function isDate(bare: string): boolean {
  const year = '(?:19|20)\\d\\d';
  const [day, month] = ['(?:0[1-9]|[12]\\d|3[01])', '(?:0[1-9]|1[0-2])'];
  return new RegExp(`^(?:${day}${month}${year}|${month}${day}${year}|${year}${month}${day})$`).test(bare);
}

/** Whether there is nothing in a password but words that a guesser knows, and a few digits. */
function isMadeOf(bare: string, words: ReadonlySet<string>): boolean {
  let rest = bare;
  for (const word of [...words].toSorted((one, other) => other.length - one.length)) rest = rest.replaceAll(word, '');
  return rest !== bare && /^\d{0,9}$/.test(rest);
}

/** Whether digits are the end of the number, which may begin with a zero where it is called from. */
function isPhoneNumber(bare: string, { phoneNumber }: PasswordContext): boolean {
  const own = bare.replace(/^0+/, '');
  return /^\d+$/.test(bare) && own.length >= phoneDigitsMin && phoneNumber?.replaceAll(/\D/g, '').endsWith(own) === true;
}

function contextWords({ tenant, client, emailAddress, phoneNumber }: PasswordContext): string[] {
  const local = emailAddress?.split('@')[0];
  const digits = phoneNumber?.replaceAll(/\D/g, '');
  const words = ['signetd', tenant, client, emailAddress, local, phoneNumber, digits].flatMap((word) =>
    word === undefined ? [] : [fold(word)],
  );
  return [...words, ...words.map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, ''))].filter(({ length }) => length >= wordMin);
}
