import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { zoneCurves } from '../../../src/twoddoc/code/curves.ts';
import { signedDocument } from '../../../src/twoddoc/code/signed-document.ts';
import { readSource } from '../../../src/twoddoc/source/read-source.ts';
import { documentTypes } from '../../../src/twoddoc/tables/document-types.ts';
import { zoneOf } from '../../../src/twoddoc/zone/zone-of.ts';
import { validSourceOf } from '../../support/two-d-doc-sources.ts';

const schema = fileURLToPath(new URL('../../../src/twoddoc/schemas/2ddoc-signed.xsd', import.meta.url));
const [curve] = zoneCurves;
if (curve === undefined) throw new Error('there is a curve');

it('of every document type is valid by its schema, as xmllint judges it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'signed-'));
  try {
    const files = documentTypes()
      .filter(({ isPublic }) => isPublic)
      .flatMap(({ code }) =>
        (['all', 'none'] as const).map((optional) => {
          const source = readSource(Buffer.from(validSourceOf(code, { optional })));
          const zone = zoneOf(source, { ca: 'FR00', certificate: '0001', today: new Date('2026-11-25') });
          const certificate = optional === 'all' ? Buffer.from('certificate') : undefined;
          const file = join(directory, `${code}-${optional}.xml`);
          writeFileSync(file, signedDocument({ zone, signature: new Uint8Array(64), curve, certificate }));
          return file;
        }),
      );
    expect(files).toHaveLength(112);
    execFileSync('xmllint', ['--noout', '--nonet', '--schema', schema, ...files], { stdio: 'pipe' });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it('says what the zone says', () => {
  const zone = Buffer.from('DC04FR000001125E125B0101FR26FR2457000\u001d22145 AVENUE DES SPECIMENS\u001d10MME/SPECIMEN/NATACHA\u001e');
  const text = signedDocument({ zone, signature: new Uint8Array(64), curve, certificate: Buffer.from('abc') });
  expect(text).toContain('<issueDate>2012-11-15</issueDate>');
  expect(text).toContain('<type name="Facture (&#xE9;nergie, t&#xE9;l&#xE9;phonie, internet, eau)">01</type>');
  expect(text).toContain(`<dataZone>${zone.toString('base64')}</dataZone>`);
  expect(text).toContain('truncated="true">MME/SPECIMEN/NATACHA</field>');
  expect(text).toContain('<signature algorithm="1.2.840.10045.4.3.2">');
  expect(text).toContain('<certificate>YWJj</certificate>');
});
