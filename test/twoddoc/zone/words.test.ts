import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseZone } from '../../../src/twoddoc/zone/parse-zone.ts';
import { fieldsInWords, headerInWords } from '../../../src/twoddoc/zone/words.ts';
import { publishedIdentifiers } from '../../support/two-d-doc-tables.ts';
import { valuesOf, writtenOf } from '../../support/two-d-doc-values.ts';

const rowOf = (id: string, value: string, truncated = false): { name: string; value: string } | undefined => {
  const [row] = fieldsInWords([{ id, value, truncated }]);
  return row && { name: row.name, value: row.value };
};

describe('a header in words', () => {
  const rows = (zone: string): string[] => headerInWords(parseZone(Buffer.from(zone)).header).map(({ id, value }) => `${id}: ${value}`);

  it('has dates and the name of the type', () => {
    expect(rows('DC04FR000001125E125B0101FR')).toEqual([
      ...['version: 04', 'ca: FR00', 'certificate: 0001', 'issueDate: 2012-11-15', 'signatureDate: 2012-11-12'],
      ...['type: 01 (Facture (énergie, téléphonie, internet, eau))', 'perimeter: 01', 'country: FR'],
    ]);
  });

  it('has only the members of its version', () => {
    expect(rows('DC01FR000001FFFF125BZZ')).toEqual([
      ...['version: 01', 'ca: FR00', 'certificate: 0001', 'issueDate: undated', 'signatureDate: 2012-11-12', 'type: ZZ'],
    ]);
  });

  it('shows members that mean nothing as they are', () => {
    expect(rows('DC03FR00000112 5abcd0702').slice(3)).toEqual(['issueDate: 12 5', 'signatureDate: abcd', 'type: 07', 'perimeter: 02']);
  });
});

describe('fields in words', () => {
  it.each([
    ['10', 'MME/SPECIMEN', 'Ligne 1 de la norme adresse postale du bénéficiaire de la prestation', 'MME/SPECIMEN'],
    ['06', '125E', 'Date de l’association entre le document et le code 2D-DOC', '2012-11-15'],
    ['1C', '15112012', 'Date d’effet du contrat', '2012-11-15'],
    ['69', '00001962', 'Date de naissance', '1962-00-00'],
    ['1G', '1', 'Présence d’un co-bénéficiaire de la prestation non mentionné dans le code', 'true'],
    ['70', '070420211010', 'Date et heure du décès', '2021-04-07T10:10'],
    ['1D', '-1517,40', 'Montant TTC de la facture', '-1517.40'],
    ['24', '     ', 'Code postal ou code cedex du point de service des prestations', ''],
    ['0C', 'MEXGM4Q', 'URL du document', 'a.fr'],
  ])('%s', (id, value, name, inWords) => {
    expect(rowOf(id, value)).toEqual({ name, value: inWords });
  });

  it.each([
    ['06', 'FFFF'],
    ['1C', '31022012'],
    ['1C', '3102'],
    ['1G', '7'],
    ['1D', '1.5'],
    ['0C', 'AB'],
    ['24', ''],
    ['A7', 'XYZ'],
  ])('shows a value that breaks a rule as it is: %s %o', (id, value) => {
    expect(rowOf(id, value)?.value).toBe(value);
  });

  it('marks a value that was cut, and unknown identifiers', () => {
    expect(rowOf('10', 'MESDAMES', true)?.value).toBe('MESDAMES…');
    expect(rowOf('ZZ', 'A')).toEqual({ name: 'unknown identifier', value: 'A' });
  });

  test('have the values of a source, but for the spaces of a postal code', () => {
    const fields = fc.constantFrom(...publishedIdentifiers).chain((row) => valuesOf(row).map((value) => ({ row, value })));
    fc.assert(
      fc.property(fields, ({ row, value: { zone, truncated = false } }) => {
        const inWords = rowOf(row.id, zone, truncated)?.value;
        if (row.format === 'bool_01') expect(inWords).toBe(zone === '1' ? 'true' : 'false');
        else if (row.format === 'postcode_or_spaces') expect(inWords).toBe(zone.trim());
        else expect(inWords).toBe(`${writtenOf(row, zone)}${truncated ? '…' : ''}`);
      }),
      { numRuns: 300 },
    );
  });
});
