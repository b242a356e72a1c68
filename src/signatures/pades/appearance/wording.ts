import type { Locale } from '../../format-entry.ts';
import type { CommitmentType } from '../../request/signed-properties.ts';

/** Languages of the labels. */
export type Language = Locale['language'];

export interface Labels {
  readonly name: string;
  readonly identifier: string;
  readonly date: string;
  readonly location: string;
  readonly reason: string;
}

export const labels: Readonly<Record<Language, Labels>> = {
  en: { name: 'Signed by', identifier: 'Certificate', date: 'Date', location: 'Place', reason: 'Reason' },
  fr: { name: 'Signé par', identifier: 'Certificat', date: 'Date', location: 'Lieu', reason: 'Motif' },
};

/** Reasons that are commitment types, as a reader would say them. */
export const commitmentWords: Readonly<Record<Language, Readonly<Record<CommitmentType, string>>>> = {
  en: {
    APPROVAL: 'Proof of approval',
    ORIGIN: 'Proof of origin',
    DELIVERY: 'Proof of delivery',
    RECEIPT: 'Proof of receipt',
    SENDER: 'Proof of sender',
  },
  fr: {
    APPROVAL: 'Preuve d’approbation',
    ORIGIN: 'Preuve d’origine',
    DELIVERY: 'Preuve de remise',
    RECEIPT: 'Preuve de réception',
    SENDER: 'Preuve d’envoi',
  },
};

/** What a screen reader says for the field (ISO 32000-2, 12.7.4.1, TU). */
export function alternativeName(language: Language, name: string): string {
  return language === 'fr' ? `Signature de ${name}` : `Signature of ${name}`;
}

/** The same for the field of a document time-stamp. */
export function timeStampName(language: Language): string {
  return language === 'fr' ? 'Horodatage' : 'Time-stamp';
}

const months: Readonly<Record<Language, readonly string[]>> = {
  en: ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'],
  fr: ['janv.', 'févr.', 'mars', 'avril', 'mai', 'juin', 'juil.', 'août', 'sept.', 'oct.', 'nov.', 'déc.'],
};

const formats = new Map<string, Intl.DateTimeFormat>();

/** Making a format takes longer than using it. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, year: 'numeric', month: 'numeric', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' },
    ...{ hourCycle: 'h23', timeZoneName: 'longOffset' },
  });
  formats.set(timeZone, made);
  return made;
}

/**
 * Returns a date in a time zone of the IANA database, with its offset from UTC: `24 Nov 2026,
 * 15:04:05 +01:00`.
 */
export function dateWords(date: Date, language: Language, timeZone: string): string {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(date)
      .map(({ type, value }) => [type, value]),
  );
  const of = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const month = months[language][Number(of('month')) - 1] ?? '';
  const offset = of('timeZoneName').replace('GMT', '');
  return `${Number(of('day'))} ${month} ${of('year')}, ${of('hour')}:${of('minute')}:${of('second')}\u00a0${offset === '' ? 'UTC' : offset}`;
}
