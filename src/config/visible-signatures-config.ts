import { z } from 'zod';

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** What visible signatures of PDF documents say, and how. */
export const VisibleSignaturesConfig = z.strictObject({
  language: z.enum(['en', 'fr']).default('en').describe('Language of the labels and of the date.'),
  timeZone: z
    .string()
    .refine(isTimeZone, 'not a time zone such as Europe/Paris')
    .default('UTC')
    .describe('Time zone of the date, from the IANA database, such as Europe/Paris.'),
});
