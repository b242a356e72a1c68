import { describe, expect, it } from 'vitest';
import { padesLevels } from '../../../../src/signatures/pades/level-writer.ts';
import { padesEntry } from '../../../../src/signatures/pades/pades-entry.ts';
import { XP7Signature } from '../../../../src/signatures/request/xp7-signature.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { chainOf, joined, signingOf, theOne, valueOf } from '../../software-signer.ts';
import { signPdf, usualSigner } from '../sign-pdf.ts';
import { findingOf, stampToken, tokenFor } from './revised-pdf.ts';
import { requestRules } from '../../../support/request-rules.ts';

/** A tagged PDF. */
const tagged = smallPdf({
  catalog: '/MarkInfo << /Marked true >> /Lang (en) /StructTreeRoot 12 0 R',
  page: '/StructParents 0 /Tabs /S',
  content: () => '/P << /MCID 0 >> BDC BT /F1 24 Tf 60 700 Td (Contract) Tj ET EMC',
  objects: [
    '<< /Type /StructTreeRoot /K 13 0 R /ParentTree << /Nums [0 [14 0 R]] >> /ParentTreeNextKey 1 >>',
    '<< /Type /StructElem /S /Document /P 12 0 R /K 14 0 R >>',
    '<< /Type /StructElem /S /P /P 13 0 R /Pg 4 0 R /K 0 >>',
  ],
});

/** Signs a PDF up to level LTA, with validation data that is none and a time-stamp. */
async function signedUpToLta(pdf: Uint8Array, parameters: Readonly<Record<string, unknown>>): Promise<Buffer> {
  const signer = usualSigner();
  const member = XP7Signature.parse({ XP7Format: 'PXP_7', XP7Providers: { PXP7Parameters: parameters } });
  const asked = padesEntry.asked(member, requestRules);
  const plan = padesEntry.plan(asked, [], { key: { type: 'P-256' }, chain: chainOf(signer) });
  const document = { id: 'd', fileName: undefined, source: { content: pdf } };
  const prepared = theOne(
    padesEntry.format.prepare([document], { ...plan.parameters, level: 'LTA' }, chainOf(signer), { now: new Date() }),
  );
  const [value, signing] = [valueOf(signer, prepared), signingOf(signer)];
  const longTermData = { certificates: [signer.certificate.der], crls: [Buffer.from('crl')], ocspAnswers: [] };
  const timeStamp = await tokenFor(padesLevels.stampedBytes(prepared, value, signing));
  const additions = { timeStamp, longTermData, archive: undefined };
  const evidence = padesEntry.format.complete(prepared, value, signing, additions);
  const imprint = padesLevels.archiveImprint(evidence, { signing, prepared, value, additions });
  const archive = padesLevels.archive(await stampToken(imprint.value), imprint);
  return joined(padesEntry.format.complete(prepared, value, signing, { ...additions, archive }).content);
}

describe('validation data and a document time-stamp by this service', () => {
  it.each([
    ['a usual file, level 1', smallPdf(), { docMDPLevel: 'LEVEL_1' }],
    ['a usual file, level 2', smallPdf(), { docMDPLevel: 'LEVEL_2' }],
    ['a locked document', smallPdf(), { documentLock: true }],
    ['a tagged file, level 1', tagged, { docMDPLevel: 'LEVEL_1', visibleSignature: {} }],
    ['a tagged file, approval', tagged, { visibleSignature: {} }],
  ])('are allowed after its signature: %s', async (_, pdf, parameters) => {
    expect(findingOf(await signedUpToLta(pdf, parameters))).toBeUndefined();
  });

  it.each([
    ['a usual file', smallPdf()],
    ['a tagged file', tagged],
  ])('are allowed after several: %s', async (_, pdf) => {
    let signed: Buffer = await signedUpToLta(pdf, { visibleSignature: {} });
    signed = await signedUpToLta(signPdf(signed, { validateSignatures: true }), { visibleSignature: {} });
    expect(findingOf(signed)).toBeUndefined();
  });
});
