import type { Certificate } from '../../../x509/certificate.ts';
import { commonNameOf, distinguishedNameText } from '../../../x509/distinguished-name.ts';
import type { SignedProperties } from '../../request/signed-properties.ts';
import { locationOf } from '../signature-dictionary.ts';
import { commitmentWords, dateWords, labels, type Labels, type Language } from './wording.ts';

/** Parts of an appearance that a request can turn on and off. */
export interface Shown {
  /** Large, on the left. */
  readonly nameOnLeft: boolean;
  readonly name: boolean;
  readonly identifier: boolean;
  readonly labels: boolean;
  readonly date: boolean;
  readonly location: boolean;
  readonly reason: boolean;
}

/** What is said before a text. */
export interface Label {
  /** In a column of its own. */
  readonly beside: string;
  /** In the line itself. */
  readonly inline: string;
}

/** A line of the text on the right; it may take several lines there. */
export interface ShownLine {
  readonly label: Label | undefined;
  readonly text: string;
  readonly isName: boolean;
}

export interface TextSource {
  readonly certificate: Certificate;
  readonly properties: SignedProperties;
  /** Time of the signature. */
  readonly date: Date;
  readonly shown: Shown;
  readonly freeText: string | undefined;
  readonly language: Language;
  /** Of the IANA database. */
  readonly timeZone: string;
}

/** Longer texts are cut: no field has room for them. */
const textMaxCharacters = 200;
const freeTextMaxCharacters = 1000;

function cut(text: string, charactersMax = textMaxCharacters): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax).trimEnd()}…`;
}

/** Returns the name of the subject as a person would say it. */
export function signerName({ subject }: Pick<Certificate, 'subject'>): string {
  const name = commonNameOf(subject);
  return cut(name === undefined || name.trim() === '' ? distinguishedNameText(subject) : name);
}

/** Returns the lines of the right part, from top to bottom. */
export function shownLines({ certificate, properties, date, shown, freeText, language, timeZone }: TextSource): readonly ShownLine[] {
  const lines: ShownLine[] = [];
  const add = (part: keyof Labels, text: string | undefined): void => {
    if (!shown[part] || text === undefined || text.trim() === '') return;
    lines.push({ label: shown.labels ? labelOf(part, language) : undefined, text: cut(text), isName: part === 'name' });
  };
  add('name', signerName(certificate));
  add('identifier', distinguishedNameText(certificate.subject).replaceAll(/(?<!\\),/g, ', '));
  add('date', dateWords(date, language, timeZone));
  add('location', locationOf(properties));
  add('reason', reasonWords(properties, language));
  for (const text of cut(freeText ?? '', freeTextMaxCharacters).split(/\r\n|\r|\n/))
    if (text.trim() !== '') lines.push({ label: undefined, text, isName: false });
  return lines;
}

/** French has a space before a colon. */
function labelOf(part: keyof Labels, language: Language): Label {
  const beside = labels[language][part];
  return { beside, inline: `${beside}${language === 'fr' ? '\u00a0' : ''}: ` };
}

/** Nothing where there is no reason. */
function reasonWords({ commitmentText, commitments }: SignedProperties, language: Language): string {
  return commitmentText ?? commitments.map((one) => commitmentWords[language][one]).join(', ');
}
