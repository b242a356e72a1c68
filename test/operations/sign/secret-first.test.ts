import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context, Operation } from '../../../src/operations/operation.ts';
import { authorizeV2 } from '../../../src/operations/csc/authorize.ts';
import { signDocV2 } from '../../../src/operations/csc/sign-doc.ts';
import { sign } from '../../../src/operations/sign/sign.ts';
import { Refusal } from '../../../src/result-codes.ts';
import type { ThreadFunction, WorkThreads } from '../../../src/threads/work-threads.ts';
import { ServiceHere } from '../../support/service-here.ts';
import { boundDocument, directoryToDrawFrom, drawnKeysOf, type DrawnKeyName, type DrawnKeys } from './drawn-keys.ts';

let service: ServiceHere;
let keys: DrawnKeys;

beforeAll(async () => {
  service = await ServiceHere.open(directoryToDrawFrom());
  keys = await drawnKeysOf(service);
});
afterAll(async () => {
  await service.end();
  service.remove();
});

/** Threads that note which functions they run. */
function noting(threads: WorkThreads, names: string[]): WorkThreads {
  const run = async <Result>(called: ThreadFunction, task: object): Promise<Result> => {
    names.push(called.name);
    return threads.run<Result>(called, task);
  };
  return Object.assign(Object.create(threads) as WorkThreads, { run });
}

interface Outcome {
  /** The code of the refusal, or `SUCCESS`. */
  readonly code: string;
  /** Functions that ran in threads. */
  readonly inThreads: readonly string[];
}

async function asked(tenant: string, operation: Operation, body: object): Promise<Outcome> {
  const inThreads: string[] = [];
  try {
    await service.within(tenant, async (context: Context) => {
      const threads = noting(context.threads, inThreads);
      return operation.handle({ ...body }, { ...context, threads });
    });
    return { code: 'SUCCESS', inThreads };
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, inThreads };
    throw error;
  }
}

const documents = {
  /** Read on the event loop. */
  small: '<a><b></a>',
  /** Too large for the event loop. */
  big: `<a><b>${'text '.repeat(10_000)}</a>`,
  good: `<a>${'text '.repeat(10_000)}</a>`,
  bound: boundDocument.text,
} as const;

const enveloped = { XP7Signature: { XP7Format: 'EXXP_7', XP7Providers: { EXXP7Parameters: {} } } };
const wrongSecret = 'not the secret of any key';

async function signed(name: DrawnKeyName, document: keyof typeof documents, secret?: string): Promise<Outcome> {
  const { tenant, reference, secret: own } = keys[name];
  const [member = ''] = Object.keys(own);
  const isBound = document === 'bound';
  return asked(tenant, sign, {
    keyReference: { reference, ...own, ...(secret === undefined ? {} : { [member]: secret }) },
    parameters: isBound ? { rawSignature: {} } : enveloped,
    inputDocuments: [{ ID: boundDocument.id, base64Data: { base64Value: Buffer.from(documents[document]).toString('base64') } }],
  });
}

async function failuresOf(name: DrawnKeyName): Promise<number | undefined> {
  return (await service.store.run('findKey', keys[name].reference))?.failures_in_row;
}

describe('documents that are prepared in a thread', () => {
  it.each(['p256', 'once1', 'otp1'] as const)('are not even read for a wrong secret, which counts once at most (%s)', async (name) => {
    const before = (await failuresOf(name)) ?? 0;
    // An authToken cannot be guessed, and counts for its client alone.
    const counted = name === 'once1' ? 0 : 1;
    expect(await signed(name, 'big', wrongSecret)).toEqual({ code: 'ACTIVATION_FAILED', inThreads: [] });
    expect(await failuresOf(name)).toBe(before + counted);
    expect(await signed(name, 'good', wrongSecret)).toEqual({ code: 'ACTIVATION_FAILED', inThreads: [] });
    expect(await failuresOf(name)).toBe(before + 2 * counted);
  });

  it.each(['p256', 'once1', 'otp1'] as const)('are refused with the right secret, and that changes nothing (%s)', async (name) => {
    const before = await failuresOf(name);
    expect(await signed(name, 'big')).toEqual({ code: 'DOCUMENT_INVALID', inThreads: ['prepareTask'] });
    expect(await failuresOf(name)).toBe(before);
  });

  it.each(['p256', 'once1'] as const)('are signed with the right secret, also after such a refusal (%s)', async (name) => {
    expect(await signed(name, 'good')).toMatchObject({ code: 'SUCCESS' });
    expect(await failuresOf(name)).toBe(0);
  });

  it('use up a single-use secret only by a signature', async () => {
    expect(await signed('once1', 'good')).toMatchObject({ code: 'KEY_STATE' });
    // Its one-time password is for another document.
    expect(await signed('otp2', 'big')).toEqual({ code: 'DOCUMENT_INVALID', inThreads: ['prepareTask'] });
    expect(await signed('otp2', 'bound')).toMatchObject({ code: 'SUCCESS' });
    expect(await signed('otp2', 'bound')).toMatchObject({ code: 'ACTIVATION_FAILED' });
  });

  it('lock a key by five wrong secrets, as others do', async () => {
    const codes: string[] = [];
    for (let attempt = 1; attempt <= 6; attempt++) codes.push((await signed('rsa', 'big', wrongSecret)).code);
    expect(codes).toEqual([...Array<string>(5).fill('ACTIVATION_FAILED'), 'KEY_LOCKED']);
    expect(await signed('rsa', 'good')).toEqual({ code: 'KEY_LOCKED', inThreads: [] });
  });

  it('are not even read for activation data that is none of the key', async () => {
    const { tenant, reference, secret } = keys.p384;
    const body = { credentialID: reference, numSignatures: 1, hashes: [Buffer.alloc(32).toString('base64')] };
    const pin = 'password' in secret ? secret.password : '';
    const opened = await service.ask(tenant, authorizeV2, {
      ...body,
      hashAlgorithmOID: '2.16.840.1.101.3.4.2.1',
      authData: [{ id: 'PIN', value: pin }],
    });
    if (!('answer' in opened.ended)) throw new Error(JSON.stringify(opened.ended));
    const { SAD: data } = opened.ended.answer as { SAD: string };
    const document = {
      document: Buffer.from(documents.big).toString('base64'),
      ...{ signature_format: 'X', conformance_level: 'Ades-B-B', signAlgo: '1.2.840.10045.4.3.3', signed_envelope_property: 'Enveloped' },
    };
    const doc = async (SAD: string): Promise<Outcome> => asked(tenant, signDocV2, { credentialID: reference, SAD, documents: [document] });
    const other = `${data.slice(0, -4)}${data.endsWith('AAAA') ? 'BBBB' : 'AAAA'}`;
    expect(await doc(other)).toMatchObject({ inThreads: [] });
    expect(await doc(data)).toMatchObject({ inThreads: ['prepareTask'] });
  });
});

describe('documents that are prepared on the event loop', () => {
  it('are refused before the secret is looked at', async () => {
    expect(await signed('chosen', 'small', wrongSecret)).toEqual({ code: 'DOCUMENT_INVALID', inThreads: [] });
    expect(await failuresOf('chosen')).toBe(0);
  });
});
