import { contentPieces } from '../../../src/documents/content.ts';
import { padesEntry } from '../../../src/signatures/pades/pades-entry.ts';
import { XP7Signature } from '../../../src/signatures/request/xp7-signature.ts';
import { chainOf, signingOf, softwareSigner, valueOf, type SoftwareSigner } from '../software-signer.ts';
import { requestRules } from '../../support/request-rules.ts';

export interface SigningOptions {
  readonly signer?: SoftwareSigner;
  readonly locale?: { readonly language: 'en' | 'fr'; readonly timeZone: string };
  readonly password?: string;
  readonly now?: Date;
}

let usual: SoftwareSigner | undefined;
/** A signer for tests to which it does not matter who signs. */
export function usualSigner(): SoftwareSigner {
  usual ??= softwareSigner('Camille Martin');
  return usual;
}

/** Signs a PDF as a request with these members of `XP7Signature` does, with a key in memory. */
export function signPdf(pdf: Uint8Array, xp7: Readonly<Record<string, unknown>> = {}, options: SigningOptions = {}): Buffer {
  const { signer = usualSigner(), locale = { language: 'en', timeZone: 'UTC' }, password, now = new Date() } = options;
  const member = XP7Signature.parse({ XP7Format: 'PXP_7', ...xp7 });
  const asked = padesEntry.asked(member, { ...requestRules, locale });
  const plan = padesEntry.plan(asked, [], {
    key: { type: signer.algorithm.scheme === 'ECDSA' ? 'P-256' : 'RSA-2048' },
    chain: chainOf(signer),
  });
  const document = { id: 'd', fileName: undefined, password, source: { content: pdf } };
  const [prepared] = padesEntry.format.prepare([document], plan.parameters, chainOf(signer), { now });
  if (prepared === undefined) throw new Error('a document has its signature');
  const value = valueOf(signer, prepared, plan.algorithm ?? signer.algorithm);
  const { content } = padesEntry.format.complete(prepared, value, signingOf(signer, plan.algorithm ?? signer.algorithm));
  return Buffer.concat(content.flatMap((piece) => Array.from(contentPieces(piece), (bytes) => Buffer.from(bytes))));
}

/** Signs a PDF with these options of `PXP7Parameters`. */
export function signPdfWith(pdf: Uint8Array, parameters: Readonly<Record<string, unknown>>, options: SigningOptions = {}): Buffer {
  return signPdf(pdf, { XP7Providers: { PXP7Parameters: parameters } }, options);
}
