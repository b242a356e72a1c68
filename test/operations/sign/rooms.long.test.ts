import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { tenantId } from '../../../src/clients/caller.ts';
import type { GivenSecret } from '../../../src/keys/credentials.ts';
import { parseKeyReferenceId } from '../../../src/keys/key-record.ts';
import { deliverEvidence, evidenceAtHand, openOutput, outputAtHand } from '../../../src/operations/fields/deliver-evidence.ts';
import { askedSigning } from '../../../src/operations/fields/input-documents.ts';
import { documentsAtHand, openDocuments } from '../../../src/operations/fields/open-documents.ts';
import type { Context } from '../../../src/operations/operation.ts';
import { parseRequest } from '../../../src/operations/parse-request.ts';
import { sign } from '../../../src/operations/sign/sign.ts';
import { signingKey } from '../../../src/operations/sign/signing-key.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { prepareAtOnce, prepareInThread } from '../../../src/signatures/prepare-signatures.ts';
import { completeAtOnce, completeSignatures, signerPlan } from '../../../src/signatures/signatures.ts';
import { repetitions } from '../../support/repetitions.ts';
import { ServiceHere } from '../../support/service-here.ts';
import { directoryToDrawFrom, drawnKeysOf, type DrawnKeyName, type DrawnKeys } from './drawn-keys.ts';
import { directoryMark, drawnFormats, drawnSigning, type DrawnFormat } from './drawn-signing.ts';
import type { SignRequest } from './general-way.ts';

let service: ServiceHere;
let keys: DrawnKeys;

beforeAll(async () => {
  service = await ServiceHere.open(directoryToDrawFrom());
  keys = await drawnKeysOf(service);
  // The time stands still, so that both prepare for the same.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
});

afterAll(async () => {
  vi.useRealTimers();
  await service.end();
  service.remove();
});

/** Returns a value as a thread returns it, or the refusal. Other errors are none of these tests. */
async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    return structuredClone(await work());
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, at: error.at, text: error.text };
    throw error;
  }
}

/** Expects that a room does at once what its general way does. Returns whether it did something at once. */
async function expectSame(atOnce: () => unknown, generally: () => Promise<unknown>): Promise<boolean> {
  const quick = await outcomeOf(atOnce);
  if (quick === undefined) return false;
  expect(await outcomeOf(generally)).toEqual(quick);
  return true;
}

interface Drawn {
  readonly name: DrawnKeyName;
  readonly parameters: object;
  readonly inputDocuments: readonly object[];
  readonly outputMode: string;
}

/** Goes through the rooms of `sign`, and does everything in both ways. Returns the rooms that did it at once. */
async function throughRooms({ name, outputMode, ...signing }: Drawn, context: Context): Promise<readonly string[]> {
  const rooms: string[] = [];
  const same = async (room: string, atOnce: () => unknown, generally: () => Promise<unknown>): Promise<void> => {
    if (await expectSame(atOnce, generally)) rooms.push(room);
  };
  const { reference, secret } = keys[name];
  const body: unknown = JSON.parse(
    JSON.stringify({ keyReference: { reference, ...secret }, ...signing }).replaceAll(directoryMark, service.directory),
  );
  // The schema is that of `sign`.
  const request = parseRequest(sign.request, body as Record<string, unknown>) as SignRequest;
  const { inputDocuments } = request;
  const evidenceOutput = { outputMode, outputDirectory: join(service.directory, 'write') };
  // As the schema has it.
  const inputs = (outputMode === 'FILE_PATH' ? { evidenceOutput } : { evidenceOutput: { outputMode } }) as SignRequest['optionalInputs'];

  const { asked, documents: askedDocuments } = askedSigning(request, context);
  const { signer } = await signingKey(request.keyReference, asked, context);
  const plan = signerPlan(asked, askedDocuments, signer);
  const opened = await openDocuments(inputDocuments, context);
  try {
    const { documents } = opened;
    await same(
      'documentsAtHand',
      () => documentsAtHand(inputDocuments)?.documents,
      async () => Promise.resolve(documents),
    );
    await same(
      'outputAtHand',
      () => outputAtHand(inputs),
      async () => openOutput(inputs, context),
    );
    const preparedIn = (prepared: Awaited<ReturnType<typeof prepareInThread>> | undefined) => prepared?.prepared;
    await same(
      'prepareAtOnce',
      () => preparedIn(prepareAtOnce(plan, documents)),
      async () => preparedIn(await prepareInThread(plan, documents, context.threads)),
    );
    const signatures = await prepareInThread(plan, documents, context.threads);
    const key = await service.keys.find(tenantId(keys[name].tenant), parseKeyReferenceId(reference));
    const given: GivenSecret = { member: 'password', bytes: Buffer.from(Object.values(secret)[0] ?? ''), transactionId: undefined };
    const digests = signatures.prepared.map(({ digest }) => digest);
    const output = await openOutput(inputs, context);
    await service.keys.sign(key, given, { algorithm: plan.algorithm, digests, documents }, async (values) => {
      const byId = new Map(signatures.prepared.map(({ id }, index) => [id, values[index] ?? new Uint8Array()]));
      await same(
        'completeAtOnce',
        () => completeAtOnce(signatures, byId),
        async () => completeSignatures(signatures, byId, context),
      );
      const evidence = await completeSignatures(signatures, byId, context);
      await same(
        'evidenceAtHand',
        () => evidenceAtHand(output, documents, evidence, context),
        async () => deliverEvidence(output, documents, evidence, context),
      );
      return {};
    });
  } finally {
    await opened.close();
  }
  return rooms;
}

describe('the rooms of sign', () => {
  const atOnce = new Map<string, number>();

  it.each(Object.keys(drawnFormats) as DrawnFormat[])('do at once what they do on the general way: %s', async (format) => {
    const name = fc.constantFrom<DrawnKeyName>('p256', 'p384', format === 'code2DDoc' ? 'p256' : 'rsa');
    const outputMode = fc.constantFrom('BASE_64', 'PLAIN', 'FTM', 'FILE_PATH');
    const drawn = fc.record({ name, signing: drawnSigning(format), outputMode });
    await fc.assert(
      fc.asyncProperty(drawn, async ({ signing, ...chosen }) => {
        try {
          await service.within(keys[chosen.name].tenant, async (context) => {
            const rooms = await throughRooms({ ...chosen, ...signing }, context);
            for (const room of rooms) atOnce.set(room, (atOnce.get(room) ?? 0) + 1);
            return {};
          });
        } catch (error) {
          // What is refused before, or by both ways, goes no further.
          if (!(error instanceof Refusal)) throw error;
        }
      }),
      { numRuns: repetitions(400, 40) },
    );
  });

  // Of all formats: few draws of one may come to a room at all.
  it.each(['documentsAtHand', 'outputAtHand', 'prepareAtOnce', 'completeAtOnce', 'evidenceAtHand'])('%s did much at once', (room) => {
    expect(atOnce.get(room)).toBeGreaterThan(20);
  });
});
