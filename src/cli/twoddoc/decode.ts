import { z } from 'zod';
import { splitCode, type Code } from '../../twoddoc/code/code.ts';
import { TwoDDocFault } from '../../twoddoc/two-d-doc-fault.ts';
import { parseAnnex, parseZone, type ParsedFields } from '../../twoddoc/zone/parse-zone.ts';
import { readZone } from '../../twoddoc/zone/read-zone.ts';
import { fieldsInWords, headerInWords } from '../../twoddoc/zone/words.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { printable } from '../printable.ts';
import { fields, table } from '../table.ts';
import { compare, readCertificateFile } from './certificate-comparison.ts';
import { codeGiven } from './code-input.ts';

export const DecodeOptions = z.object({ code: z.string(), certificate: z.string().optional() });

/** A field as signetctl shows it. */
interface FieldView {
  readonly id: string;
  /** French name of the tables. */
  readonly name: string;
  /** In words. */
  readonly value: string;
  /** As it is in the code. */
  readonly raw: string;
  readonly truncated: boolean;
}

/**
 * `twoddoc decode`: shows what a code says, also if it breaks rules, and verifies it with a
 * certificate.
 */
export async function decode(_configPath: string, options: z.output<typeof DecodeOptions>): Promise<Outcome> {
  const certificate = options.certificate === undefined ? undefined : await readCertificateFile(options.certificate);
  try {
    const bytes = await codeGiven(options.code);
    const code = splitCode(bytes);
    const zone = parseZone(code.zone);
    const annex = code.annex === undefined ? undefined : parseAnnex(code.annex);
    const brokenRule = ruleBrokenBy(code);
    const comparison = certificate === undefined ? undefined : compare(certificate, code, zone.header);
    const header = headerInWords(zone.header);
    const members: ReadonlyMap<string, string> = new Map(Object.entries(zone.header));
    return {
      json: {
        header: header.map((row) => ({ ...row, raw: members.get(row.id) })),
        message: viewsOf(zone),
        unread: zone.unread ?? null,
        annex: annex === undefined ? null : viewsOf(annex),
        annexUnread: annex?.unread ?? null,
        brokenRule: brokenRule ?? null,
        signature: { curve: code.curve.name, verified: comparison?.view.verified ?? null },
        certificate: comparison?.view.certificate ?? null,
      },
      text: [
        fields(header.map(({ name, value }) => [name, value])),
        section('Message', zone),
        annex === undefined ? '' : section('Annex, which is not signed', annex),
        fields([
          ['rules of the tables', brokenRule === undefined ? 'none is broken' : `broken: ${brokenRule}`],
          ['signature', `${code.curve.name}; ${comparison?.verdict ?? 'not checked'}`],
          ...(comparison?.rows ?? []),
        ]),
      ]
        .filter((part) => part !== '')
        .join('\n'),
      faults: comparison?.faults ?? [],
      faultCode: comparison?.view.verified === false ? exitCodes.signatureInvalid : exitCodes.faultFound,
      notes: comparison === undefined ? ['the signature was not checked: --certificate takes the certificate of the signer'] : [],
    };
  } catch (error) {
    if (error instanceof TwoDDocFault) throw new CommandError(exitCodes.usage, error.message);
    throw error;
  }
}

function section(title: string, parsed: ParsedFields): string {
  const rows = viewsOf(parsed).map(({ id, name, value }) => [id, name, value]);
  const body = rows.length === 0 ? 'no fields\n' : table(['ID', 'NAME', 'VALUE'], rows);
  return `${title}:\n${body}${parsed.unread === undefined ? '' : `not a field, so not read: ${printable(parsed.unread)}\n`}`;
}

function viewsOf({ fields: parsed }: ParsedFields): readonly FieldView[] {
  return fieldsInWords(parsed).map((row, index) => ({
    ...row,
    raw: parsed[index]?.value ?? '',
    truncated: parsed[index]?.truncated === true,
  }));
}

/**
 * Returns the first rule of the tables that a zone breaks, undefined if it breaks none. Version 01
 * has the rules of version 02, whose header is the same.
 */
function ruleBrokenBy({ zone }: Code): string | undefined {
  const judged = Buffer.from(zone);
  if (judged.toString('latin1', 0, 4) === 'DC01') judged.write('DC02', 'latin1');
  try {
    readZone(judged);
    return undefined;
  } catch (error) {
    if (error instanceof TwoDDocFault) return error.message;
    throw error;
  }
}
