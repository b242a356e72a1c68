import { describe, expect, it } from 'vitest';
import { smallPdf } from '../../../support/small-pdf.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';
import { findingOf } from './revised-pdf.ts';
import { rewritten } from './rewritten-pdf.ts';

const weak = '--allow-weak-crypto';
const kinds: readonly (readonly [string, readonly string[], string | undefined])[] = [
  ['object streams', ['--object-streams=generate'], undefined],
  ['linearised', ['--linearize'], undefined],
  ['linearised, with object streams', ['--linearize', '--object-streams=generate'], undefined],
  ['encrypted, revision 2', [weak, '--encrypt', 'user', 'owner', '40', '--'], 'user'],
  ['encrypted, revision 3', [weak, '--encrypt', 'user', 'owner', '128', '--'], 'user'],
  ['encrypted, revision 4', [weak, '--encrypt', 'user', 'owner', '128', '--use-aes=y', '--'], 'user'],
  ['encrypted, revision 6', ['--encrypt', 'user', 'owner', '256', '--'], 'owner'],
];

describe('signatures one after another hold', () => {
  it.each(kinds)('in a file that is %s', (_, options, password) => {
    const signing = password === undefined ? {} : { password };
    let pdf = signPdfWith(rewritten(smallPdf({ pages: 3 }), options), { docMDPLevel: 'LEVEL_2' }, signing);
    pdf = signPdf(pdf, { validateSignatures: true, XP7Providers: { PXP7Parameters: { visibleSignature: {} } } }, signing);
    pdf = signPdf(pdf, { validateSignatures: true }, signing);
    expect(findingOf(pdf, password)).toBeUndefined();
  });
});
