import type { StatusView } from '../../admin/views.ts';
import { fault, warning, type Diagnosis } from './diagnosis.ts';

/** Warnings of the service that nothing else in the diagnosis shows. */
const shown = /^(client certificate|CRL of|OCSP responder of) /;

/**
 * Diagnoses what only the running service knows to end: certificates of clients, and CRLs and OCSP
 * responders that it should have renewed.
 */
export function reminders({ warnings }: StatusView): Diagnosis[] {
  return Object.entries(warnings)
    .filter(([name]) => shown.test(name))
    .map(([, text]) => (text.includes(' expired on ') ? fault('reminders', text) : warning('reminders', text)));
}
