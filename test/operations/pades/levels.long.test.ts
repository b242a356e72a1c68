import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, codeOf, contentDocument, description, evidenceOf, messageOf, newKey, secretOf, type TestKey } from '../../support/api.ts';
import { judged, noValidator } from '../../support/judge.ts';
import { encryptedPdf, securityRevisions } from '../../support/encrypted-pdf.ts';
import { inObjectStreams, linearised, taggedPdf } from '../../support/pdf-forms.ts';
import { skipNote } from '../../support/skip-note.ts';
import { smallPdf } from '../../support/small-pdf.ts';

const withoutDraft = securityRevisions.filter((revision) => revision !== 5);

type Level = 'T' | 'LT' | 'LTA';
const directory = mkdtempSync(join(tmpdir(), 'signetd-pades-levels-'));
const levels: Readonly<Record<Level, object>> = {
  T: { timeStamp: {} },
  LT: { timeStamp: {}, longTermValidation: {} },
  LTA: { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } },
};
let key: TestKey;
beforeAll(async () => {
  key = await newKey('other');
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function signed(pdf: Buffer, level: Level, parameters: object = {}, password?: string): Promise<Buffer> {
  const answer = await call('other', 'signature/sign', {
    keyReference: secretOf(key),
    parameters: { XP7Signature: { XP7Format: 'PXP_7', ...levels[level], XP7Providers: { PXP7Parameters: parameters } } },
    inputDocuments: [{ ...contentDocument(pdf), ...(password === undefined ? {} : { password }) }],
  });
  expect([level, parameters, codeOf(answer), messageOf(answer)]).toEqual([level, parameters, '0/0', 'success']);
  const made = evidenceOf(answer);
  expect(made.subarray(0, pdf.length).equals(pdf)).toBe(true);
  return made;
}

describe.skipIf(noValidator !== undefined)(`PAdES levels in independent validators${skipNote(noValidator)}`, () => {
  it('hold in every kind of file, after earlier signatures too', async () => {
    const files: { readonly name: string; readonly bytes: Buffer; readonly level: Level; readonly password?: string }[] = [];
    const inStreams = inObjectStreams(smallPdf());
    const originals: Readonly<Record<string, { readonly pdf: Buffer; readonly parameters?: object; readonly password?: string }>> = {
      table: { pdf: smallPdf() },
      stream: { pdf: inStreams },
      linearised: { pdf: linearised(smallPdf({ pages: 3 })) },
      rotated: { pdf: smallPdf({ page: '/Rotate 90' }), parameters: { visibleSignature: { paging: 'FIRST_PAGE' } } },
      tagged: { pdf: taggedPdf() },
      'tagged-visible': { pdf: taggedPdf(), parameters: { visibleSignature: { paging: 'LAST_PAGE' } } },
      'certified-1': { pdf: smallPdf(), parameters: { docMDPLevel: 'LEVEL_1' } },
      'tagged-certified-1': { pdf: taggedPdf(), parameters: { docMDPLevel: 'LEVEL_1' } },
      locked: { pdf: inStreams, parameters: { documentLock: true } },
      'all-fields-locked': { pdf: smallPdf(), parameters: { fieldsLock: 'ALL' } },
      ...Object.fromEntries(
        // R5 was a draft of R6, which pyHanko does not open.
        withoutDraft.map((revision) => [
          `encrypted-R${revision}`,
          { pdf: encryptedPdf(revision % 2 === 0 ? smallPdf() : inStreams, { revision, user: '', owner: 'owner' }) },
        ]),
      ),
      'encrypted-password': { pdf: encryptedPdf(inStreams, { revision: 6, user: 'user', owner: 'owner' }), password: 'owner' },
    };
    for (const [name, { pdf, parameters, password }] of Object.entries(originals))
      for (const level of ['T', 'LT', 'LTA'] as const)
        files.push({
          name: `${name}-${level}`,
          level,
          bytes: await signed(pdf, level, parameters, password),
          ...(password === undefined ? {} : { password }),
        });
    // A later signature of the same signer raises the earlier ones too: the file then has their data.
    for (const [name, pdf, first] of [
      ['series', smallPdf(), 'LTA'],
      ['tagged-series', taggedPdf(), 'LTA'],
      ['encrypted-series', encryptedPdf(inStreams, { revision: 6, user: '', owner: 'owner' }), 'LTA'],
      ['mixed-series', inStreams, 'T'],
    ] as const) {
      let bytes: Buffer = pdf;
      for (const level of [first, 'LTA', 'LTA'] as const) {
        bytes = await signed(bytes, level);
        files.push({ name: `${name}-${files.length}-${level}`, bytes, level });
      }
    }
    const requests = files.map(({ name, bytes, level, password }) => {
      const file = join(directory, `${name}.pdf`);
      writeFileSync(file, bytes);
      return { file, trust: description.trustAnchors, require: level, ...(password === undefined ? {} : { password }) };
    });
    const judgements = await judged(requests);
    const found = files.map(({ name, level }, index) => {
      const { verdict = 'none', level: reached, validators = [] } = judgements[index] ?? {};
      const isGood = verdict === 'valid' || (level === 'T' && verdict === 'valid-except-revocation');
      const reasons = validators.filter((one) => one.reasons.length > 0).map((one) => `${one.name}: ${one.reasons.join('; ')}`);
      return isGood ? `${name}: ${reached}` : `${name}: ${verdict} ${reached} ${reasons.join(' | ')}`;
    });
    expect(found).toEqual(files.map(({ name }) => `${name}: PAdES-BASELINE-${name.split('-').at(-1)}`));
  });
});
