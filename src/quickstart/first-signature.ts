import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { command } from './command.ts';
import type { Description } from './description.ts';
import { call, curlCommand, file } from './curl.ts';
import { firstDocument, signaturePlace } from './first-document.ts';
import { layout, projectDirectory } from './layout.ts';

/** Results for the summary at the end. */
export interface FirstSignature {
  readonly reference: string;
  readonly document: string;
  readonly signature: string;
  readonly curl: string;
  readonly cmsVerdict: string;
  readonly rawVerdict: string;
  /** Path of the signed PDF. */
  readonly pdf: string;
  readonly pdfVerdict: string;
}

const Created = z.object({
  result: z.object({ majorCode: z.literal(0) }),
  keyReference: z.object({ reference: z.string(), password: z.string() }),
  certificate: z.string(),
});
const Signed = z.object({
  result: z.object({ resultMajor: z.literal(0) }),
  evidenceObject: z.object({ document: z.object({ base64Data: z.object({ base64Value: z.string() }) }) }),
});

/**
 * Creates a key, signs documents with it in three ways, and verifies them with OpenSSL; all
 * requests go over mTLS with curl, as a caller's would.
 */
export async function signFirstDocument(description: Description): Promise<FirstSignature> {
  mkdirSync(layout.first, { recursive: true, mode: 0o700 });
  const document = file('document.md');
  copyFileSync(join(projectDirectory, 'README.md'), document);

  const created = await call(Created, description, `${description.signRoot}/pki/createCertificate`, 'create-certificate.json', {
    certificationRequestInfo: {
      signatureActivationProtocol: 'PASSWORD',
      PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Camille Martin' } },
    },
    certificateFormat: 'CERTIFICATE',
  });
  writeFileSync(file('signer.der'), Buffer.from(created.certificate, 'base64'));

  const inputDocuments = [
    { ID: 'document', fileName: 'document.md', base64Data: { base64Value: readFileSync(document).toString('base64') } },
  ];
  const cades = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } };
  const { keyReference } = created;
  const signature = file('document.md.p7s');
  writeEvidence(
    signature,
    await call(Signed, description, `${description.signRoot}/signature/sign`, 'sign-cades.json', {
      keyReference,
      parameters: cades,
      inputDocuments,
    }),
  );
  const raw = { keyReference, parameters: { rawSignature: {} }, inputDocuments };
  writeEvidence(file('document.md.sig'), await call(Signed, description, `${description.signRoot}/signature/sign`, 'sign-raw.json', raw));

  const cmsVerdict = await command('openssl', [
    ...['cms', '-verify', '-binary', '-inform', 'DER', '-in', signature, '-content', document],
    ...['-CAfile', description.trustAnchors[0] ?? '', '-out', '/dev/null'],
  ]);
  await command('openssl', ['x509', '-in', file('signer.der'), '-inform', 'DER', '-pubkey', '-noout', '-out', file('signer.pub')]);
  const rawVerdict = await command('openssl', [
    'dgst',
    '-sha256',
    '-verify',
    file('signer.pub'),
    '-signature',
    file('document.md.sig'),
    document,
  ]);
  const { pdf, pdfVerdict } = await signFirstPdf(description, keyReference);
  return {
    ...{ pdf, pdfVerdict },
    reference: keyReference.reference,
    document,
    signature,
    curl: curlCommand(description, `${description.signRoot}/signature/sign`, 'sign-cades.json'),
    cmsVerdict: cmsVerdict.trim(),
    rawVerdict: rawVerdict.trim(),
  };
}

/** Signs a PDF visibly. */
async function signFirstPdf(
  description: Description,
  keyReference: z.output<typeof Created>['keyReference'],
): Promise<Pick<FirstSignature, 'pdf' | 'pdfVerdict'>> {
  const document = file('contract.pdf');
  writeFileSync(document, firstDocument());
  const parameters = {
    XP7Signature: {
      XP7Format: 'PXP_7',
      signedProperties: { commitmentText: 'Lu et approuvé', signatureProductionPlace: { city: 'Paris' } },
      XP7Providers: {
        PXP7Parameters: { visibleSignature: { ...signaturePlace, renderName: true, renderLabelVisible: true, renderReasonVisible: true } },
      },
    },
  };
  const inputDocuments = [
    { ID: 'contract', fileName: 'contract.pdf', base64Data: { base64Value: readFileSync(document).toString('base64') } },
  ];
  const pdf = file('contract-signed.pdf');
  writeEvidence(
    pdf,
    await call(Signed, description, `${description.signRoot}/signature/sign`, 'sign-pades.json', {
      keyReference,
      parameters,
      inputDocuments,
    }),
  );
  const { covered, signature } = partsOf(readFileSync(pdf));
  writeFileSync(file('contract-covered.bin'), covered);
  writeFileSync(file('contract-signature.der'), signature);
  const verdict = await command('openssl', [
    ...['cms', '-verify', '-binary', '-inform', 'DER', '-in', file('contract-signature.der'), '-content', file('contract-covered.bin')],
    ...['-CAfile', description.trustAnchors[0] ?? '', '-out', '/dev/null'],
  ]);
  return { pdf, pdfVerdict: verdict.trim() };
}

/** Returns what the signature of a PDF covers, and the signature itself, as OpenSSL wants them. */
function partsOf(pdf: Buffer): { readonly covered: Buffer; readonly signature: Buffer } {
  const range = /\/ByteRange \[(\d+) (\d+) +(\d+) +(\d+) *\]/.exec(pdf.toString('latin1'));
  const [start = 0, length = 0, start2 = 0, length2 = 0] = (range ?? []).slice(1).map(Number);
  const covered = Buffer.concat([pdf.subarray(start, start + length), pdf.subarray(start2, start2 + length2)]);
  return { covered, signature: Buffer.from(pdf.toString('latin1', length + 1, start2 - 1), 'hex') };
}

function writeEvidence(path: string, answer: z.output<typeof Signed>): void {
  writeFileSync(path, Buffer.from(answer.evidenceObject.document.base64Data.base64Value, 'base64'));
}
