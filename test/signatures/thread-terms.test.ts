import { expect, test } from 'vitest';
import { Fault } from '../../src/faults.ts';
import { askedFormat } from '../../src/signatures/formats.ts';
import { prepareInThread, prepareSignatures } from '../../src/signatures/prepare-signatures.ts';
import { SignatureParameters } from '../../src/signatures/request/parameters.ts';
import { signerPlan } from '../../src/signatures/signatures.ts';
import type { ThreadFunction } from '../../src/threads/work-threads.ts';
import { requestRules } from '../support/request-rules.ts';
import { chainOf } from './software-signer.ts';
import { signer } from './xades/xades-signer.ts';

const documents = [{ id: 'd', fileName: 'd.xml', source: { content: Buffer.from(`<a>${'text '.repeat(5000)}</a>`) } }];

function planFor(parameters: object) {
  const asked = askedFormat(SignatureParameters.parse(parameters), requestRules);
  return signerPlan(asked, [{ digestHash: undefined }], { key: { type: 'P-256' }, chain: chainOf(signer) });
}

const enveloped = planFor({ XP7Signature: { XP7Format: 'EXXP_7', XP7Providers: { EXXP7Parameters: {} } } });
const withXPath = planFor({
  XP7Signature: { XP7Format: 'EXXP_7', XP7Providers: { EXXP7Parameters: { xpathSignaturePosition: '/*' } } },
});

/** How the preparation runs a function in a thread, whose time is then over. */
async function terms(prepare: (threads: { run: (called: ThreadFunction) => Promise<never> }) => Promise<unknown>): Promise<unknown[]> {
  let called: ThreadFunction | undefined;
  const run = async (one: ThreadFunction): Promise<never> => {
    called = one;
    return Promise.reject(new Fault('TASK_TIMEOUT'));
  };
  const error = await prepare({ run }).catch((one: unknown) => one);
  return [called?.deadlineMs, called?.whenClientIsGone, error];
}

const tooLong = { code: 'UNSUPPORTED', text: 'reading the documents takes too long' };

test('documents of a caller who has shown no secret are parsed for 30 seconds at most, and no longer than the caller waits', async () => {
  expect(await terms(async (threads) => prepareSignatures(enveloped, documents, threads))).toMatchObject([30_000, 'stops', tooLong]);
});

test('those of a caller with the secret have the time of their lane', async () => {
  expect(await terms(async (threads) => prepareInThread(enveloped, documents, threads))).toMatchObject([undefined, 'stops', tooLong]);
});

test("an XPath of the caller has 30 seconds either way, and is named if they don't suffice", async () => {
  const named = { code: 'DOCUMENT_INVALID', text: 'the XPath expression takes too long in this document' };
  for (const prepare of [prepareInThread, prepareSignatures])
    expect(await terms(async (threads) => prepare(withXPath, documents, threads))).toMatchObject([30_000, 'stops', named]);
});
