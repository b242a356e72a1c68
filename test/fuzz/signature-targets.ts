/** The verifiers of signatures that documents have already, each with inputs made of sound ones. */
import { askedFormat } from '../../src/signatures/formats.ts';
import { prepareSignatures } from '../../src/signatures/prepare-signatures.ts';
import { SignatureParameters } from '../../src/signatures/request/parameters.ts';
import { signerPlan } from '../../src/signatures/signatures.ts';
import type { WorkThreads } from '../../src/threads/work-threads.ts';
import { madePdf, revised, usualObjects, type MadeObjects } from '../pdf/made-pdf.ts';
import { changed, changeKinds, type Change } from '../pdf/mutated-pdf.ts';
import { signPdf, signPdfWith } from '../signatures/pades/sign-pdf.ts';
import { chainOf, joined, signedBy, softwareSigner, type SoftwareSigner } from '../signatures/software-signer.ts';
import { enveloped } from '../signatures/xades/xades-signer.ts';
import { openssl } from '../support/openssl.ts';
import { requestRules } from '../support/request-rules.ts';
import { changedDer } from './der-changes.ts';
import { outcomeOf, type FuzzTarget } from './fuzz-target.ts';
import { pick, type RandomNumber } from './random-choice.ts';
import { changedXml } from './xml-changes.ts';

const signer = softwareSigner('Signer');

export function cmsTarget(): FuzzTarget {
  const rsa = softwareSigner('RSA signer', 'rsa', '6');
  const content = Buffer.from('The content of a contract.\n'.repeat(20));
  const pss = { scheme: 'RSA_PSS', hash: 'sha384', mgfHash: 'sha384', saltBytes: 48 } as const;
  const once = joined(signedBy(signer, content));
  const sound = [
    once,
    joined(signedBy(rsa, content)),
    joined(signedBy(rsa, content, { algorithm: pss })),
    joined(signedBy(rsa, once, { coSigning: 'CHECKED' })),
    ...[[], ['-noattr'], ['-keyid'], ['-md', 'sha512'], ['-nocerts']].map((options) => opensslSigned(rsa, content, options)),
  ];
  return {
    input: (random) => changedDer(pick(sound, random), random),
    run: async (input, threads) =>
      signed(
        { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: false } }, validateSignatures: true } },
        input,
        threads,
      ),
  };
}

function opensslSigned({ pem, privateKey }: SoftwareSigner, content: Uint8Array, options: readonly string[]): Buffer {
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const args = ['cms', '-sign', '-binary', '-nodetach', '-outform', 'PEM', '-in', '{content}', '-signer', '{pem}', '-inkey', '{key}'];
  return Buffer.from(openssl([...args, ...options], { content, pem, key }).replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');
}

export function xmlTarget(): FuzzTarget {
  const items = Array.from({ length: 12 }, (_, index) => `<item n="${index}">chair ${index} &amp; table</item>`).join('\n');
  const order = `<order xmlns="urn:o" xmlns:p="urn:p"><p:head Id="x">2 chairs</p:head>${items}</order>`;
  const once = enveloped(order);
  const sound = [
    once,
    enveloped(once),
    enveloped(order, { signedNode: 'x' }),
    enveloped(order, { place: 'FIRST_CHILD' }),
    enveloped(`<a>${'<b c="d">e</b>'.repeat(800)}</a>`),
  ].map(String);
  return {
    input: (random) => Buffer.from(changedXml(pick(sound, random), random)),
    run: async (input, threads) => signed({ XP7Signature: { XP7Format: 'EXXP_7', validateSignatures: true } }, input, threads),
  };
}

export function pdfTarget(): FuzzTarget {
  const objects = usualObjects();
  const plain = madePdf(objects);
  const once = signPdf(plain);
  const sound = [
    once,
    signPdf(once),
    signPdf(madePdf(objects, { shape: 'STREAM' })),
    signPdf(madePdf(objects, { shape: 'OBJECT_STREAMS', isCompressed: true })),
    signPdfWith(plain, { docMDPLevel: 'LEVEL_2' }),
    signPdfWith(plain, { docMDPLevel: 'LEVEL_3', fieldsLock: 'ALL' }),
    signPdfWith(plain, { visibleSignature: { paging: 'LAST_PAGE', fontSize: 8 } }),
  ];
  return {
    input: (random) => {
      const pdf = pick(sound, random);
      // A later revision of changed objects is what a verifier has to judge; anything else is damage.
      return random() < 0.6 ? laterRevision(pdf, objects, random) : changed({ bytes: pdf }, changesAt(random));
    },
    run: async (input, threads) => signed({ XP7Signature: { XP7Format: 'PXP_7', validateSignatures: true } }, input, threads),
  };
}

/** Appends a revision in which one to four objects are changed, or made of others. */
function laterRevision(pdf: Buffer, objects: MadeObjects, random: RandomNumber): Buffer {
  const numbers = [...Object.keys(objects).map(Number), 17, 18, 19, 20];
  const additions = [
    '/DSS <</Certs [1 0 R] /VRI <</A <</Cert [3 0 R]>>>>>>',
    '/Extensions <</ADBE <</X 2 0 R>>>>',
    '/AP <</N 7 0 R /D <</X 1 0 R>>>>',
    '/Annots [10 0 R 12 0 R 20 0 R]',
    '/Kids [12 0 R 11 0 R]',
    '/V 1 0 R',
    '/Perms <</DocMDP 17 0 R>>',
  ];
  const bodies: Record<number, string> = {};
  for (let count = 1 + Math.floor(random() * 4); count > 0; count -= 1) {
    const object = objects[pick(numbers, random)];
    const text = typeof object === 'string' ? object : '<</Type /Annot /Subtype /Text /Contents (x)>>';
    const added = random() < 0.5 ? text.replace(/>>$/, ` ${pick(additions, random)}>>`) : text;
    bodies[pick(numbers, random)] =
      random() < 0.3 ? added : changed({ bytes: Buffer.from(added, 'latin1') }, changesAt(random)).toString('latin1');
  }
  return revised(pdf, bodies);
}

function changesAt(random: RandomNumber): readonly Change[] {
  const number = (): number => Math.floor(random() * 2 ** 31);
  return Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({
    ...{ kind: pick(changeKinds, random), at: number(), other: number(), length: 1 + (number() % 60) },
  }));
}

/** Has a document signed as a request with these parameters, up to the value of the signature. */
async function signed(parameters: unknown, content: Uint8Array, threads: Pick<WorkThreads, 'run'>): Promise<string> {
  const parsed = SignatureParameters.parse(parameters);
  const plan = signerPlan(askedFormat(parsed, requestRules), [{ digestHash: undefined }], {
    key: { type: 'P-256' },
    chain: chainOf(signer),
  });
  return outcomeOf(async () => {
    await prepareSignatures(plan, [{ id: 'd', fileName: 'document', source: { content } }], threads);
    return 'SIGNED';
  });
}
