import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { operationPath } from '../../src/http/api/operation-path.ts';
import { recordedReason } from '../../src/http/api/recorded-reason.ts';
import { operations } from '../../src/operations/table.ts';
import { Refusal } from '../../src/result-codes.ts';
import { paths } from '../http/hostile/json-paths.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';

/** What no record may have, whatever field it was sent in: as a word, digits, and in the ways in which services quote. */
const secret = 'Xq7hunter';
const digits = '83640127';
const canaries = [secret, digits, Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('hex')];

let service: OwnService;
beforeAll(async () => {
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    const config = z.looseObject({ limits: z.record(z.string(), z.number()) }).parse(parse(readFileSync(configFile, 'utf8')));
    const generous = { requestsPerSecond: 10_000, requestsBurst: 10_000, otpsPerMinute: 10_000, messagesPerMinute: 10_000 };
    writeFileSync(configFile, stringify({ ...config, limits: { ...config.limits, ...generous } }));
  });
}, 120_000);
afterAll(async () => {
  await service.remove();
});

interface RequestRecord {
  readonly [member: string]: unknown;
}

function records(): RequestRecord[] {
  const audit = join(service.environment.directory, 'audit');
  return readdirSync(audit)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) => readFileSync(join(audit, name), 'utf8').split('\n').filter(Boolean))
    .map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line)))
    .filter(({ kind }) => kind === 'request');
}

/** The value with what lies at a path changed. */
function changed(value: unknown, path: readonly string[], change: (holder: Record<string, unknown>, step: string) => void): unknown {
  const copy: unknown = structuredClone(value);
  let holder: unknown = copy;
  for (const step of path.slice(0, -1)) holder = Reflect.get(holder as object, step);
  change(holder as Record<string, unknown>, path.at(-1) ?? '');
  return copy;
}

const document = `<?xml version="1.0"?><${secret} Id="${secret}"><b ${secret}="${digits}">&${secret};</c></${secret}>`;
const wrongValues: readonly unknown[] = [
  secret,
  digits,
  `"${secret}`,
  `${secret}" ${secret}`,
  `/${secret}/../${digits}`,
  `https://${secret}.example.org/${digits}`,
  `${secret}@${digits}`,
  `1.2.${digits}`,
  `${secret}\u0000${digits}`,
  secret.repeat(400),
  Number(digits),
  [secret, secret],
  { [secret]: digits },
  Buffer.from(document).toString('base64'),
  Buffer.from(`%PDF-1.7\n1 0 obj<</Type/${secret}/${secret}(${digits})>>endobj\ntrailer<</Root 1 0 R/${secret} 2>>`).toString('base64'),
];

/** Every way in which a request can be wrong at each of its places. */
function wrongOnes(request: object): unknown[] {
  return paths(request).flatMap((path) => {
    if (path.length === 0) return [{ ...request, [secret]: digits }, { ...request, [`${secret}: ${digits}`]: 1 }, [secret], secret];
    return [
      ...wrongValues.map((wrong) =>
        changed(request, path, (holder, step) => {
          holder[step] = wrong;
        }),
      ),
      changed(request, path, (holder, step) => {
        holder[`${step}s${secret}`] = holder[step];
        Reflect.deleteProperty(holder, step);
      }),
    ];
  });
}

const hash = Buffer.alloc(32, 7).toString('base64');
const inBase64 = (text: string): object => ({ base64Data: { base64Value: Buffer.from(text).toString('base64') } });
const xml = `<a ${secret}="${digits}"><b Id="${secret}">${digits}</b></a>`;
const pdf = `%PDF-1.7\n1 0 obj<</Type/Catalog/${secret}(${digits})>>endobj\nxref\n0 2\ntrailer<</Root 1 0 R/Size 2>>\nstartxref\n9\n%%EOF`;
const xp7 = (XP7Format: string, provider = {}): object => ({ XP7Signature: { XP7Format, timeStamp: {}, XP7Providers: provider } });
/** Requests for each format that come far, with documents that have the secrets too. */
const signings: readonly { readonly parameters: object; readonly document: object }[] = [
  { parameters: { rawSignature: {} }, document: inBase64(secret) },
  {
    parameters: {
      envelopedXAdESSignature: {
        envelopedXAdESParameters: { signedNode: secret, xpathTransformation: `/${secret}[`, signatureElementName: secret },
      },
    },
    document: inBase64(xml),
  },
  { parameters: { code2DDocSignature: { code2DDocParameters: {} } }, document: { plainData: { plainValue: `DC04${secret}${digits}` } } },
  { parameters: xp7('CXP_7', { CXP7Parameters: { detached: true } }), document: inBase64(secret) },
  { parameters: xp7('PXP_7', { PXP7Parameters: { signatureFieldName: secret, visibleSignature: {} } }), document: inBase64(pdf) },
  { parameters: xp7('DXXP_7', { DXXP7Parameters: { signedDataTemplate: `{${secret}}` } }), document: inBase64(xml) },
  { parameters: xp7('EXXP_7', { EXXP7Parameters: {} }), document: inBase64(xml) },
  { parameters: xp7('EGXXP_7', { EGXXP7Parameters: {} }), document: inBase64(xml) },
];

async function newKey(): Promise<{ readonly reference: string; readonly password: string }> {
  const Answer = z.looseObject({ keyReference: z.object({ reference: z.string(), password: z.string() }) });
  return Answer.parse(JSON.parse(await service.post('pki/createCertificate', newCertificate(), 'app'))).keyReference;
}

async function sendAll(path: string, bodies: readonly unknown[], client: string): Promise<void> {
  const { signRoot, doc2dRoot = '', cscRoot } = service.description;
  const at = operationPath({ path: path as 'pki/checkKey' }, { signRoot, doc2dRoot, cscRoot });
  const waiting = [...bodies];
  const sender = async (): Promise<void> => {
    for (let body = waiting.pop(); body !== undefined; body = waiting.pop()) {
      await service.post(at.slice(1), body as object, client, { root: '' }).catch(() => undefined);
    }
  };
  await Promise.all([sender(), sender(), sender(), sender()]);
}

/** `key` and `requestID` are what the caller names; the log keeps them as documented. */
function withoutNames({ key: _key, requestID: _requestID, ...rest }: RequestRecord): RequestRecord {
  return rest;
}

describe('the reason in the record of a refusal', () => {
  it('has nothing of what the caller sent in any field of any operation, in any wrong way', { timeout: 600_000 }, async () => {
    for (const { path, example } of operations) await sendAll(path, wrongOnes(example), 'app');
    for (const { parameters, document: given } of signings) {
      const keyReference = await newKey();
      const inputDocuments = [{ ID: secret, fileName: secret, ...given }];
      const wrong = wrongOnes({ parameters, inputDocuments }).map((one) => ({ ...(typeof one === 'object' ? one : {}), keyReference }));
      await sendAll('signature/sign', [{ parameters, inputDocuments, keyReference }, ...wrong], 'app');
    }
    const keyReference = await newKey();
    const wrongPassword = { keyReference: { ...keyReference, password: secret }, password: secret };
    await sendAll('pki/changePassword', [wrongPassword], 'app');
    const request = { credentialID: keyReference.reference, SAD: secret, hashes: [hash], [secret]: 1 };
    await sendAll('csc/v2/signatures/signHash', [request], 'app');

    const found = records();
    const refused = found.filter(({ major, status }) => (typeof major === 'number' && major !== 0) || status !== undefined);
    expect(refused.length).toBeGreaterThan(2000);
    expect(new Set(refused.map(({ operation }) => operation)).size).toBe(operations.length);
    expect(refused.filter(({ reason }) => typeof reason !== 'string' || reason === '')).toEqual([]);
    expect(found.filter(({ major, reason }) => major === 0 && reason !== undefined)).toEqual([]);
    const reasons = new Set(refused.map(({ reason }) => String(reason)));
    expect(reasons.size).toBeGreaterThan(100);
    expect([...reasons].filter((reason) => Array.from(reason).length > 300)).toEqual([]);
    const telling = found
      .map(withoutNames)
      .filter((record) => canaries.some((canary) => JSON.stringify(record).toLowerCase().includes(canary.toLowerCase())));
    expect(telling.map(({ operation, reason }) => `${String(operation)}: ${String(reason)}`)).toEqual([]);
  });

  it('names the field and the fault', async () => {
    await service.post('signature/sign', { keyReference: {}, parameters: { rawSignature: {} }, inputDocuments: [] }, 'app');
    expect(records().at(-1)).toMatchObject({ major: 1, minor: 101, reason: '/keyReference/reference: this field is required' });
  });

  it('is recorded again with an answer that is kept', async () => {
    const headers = { 'Idempotency-Key': 'kept-refusal' };
    for (let times = 0; times < 2; times += 1) await service.post('pki/createCertificate', { [secret]: 1 }, 'app', { headers });
    const [first, second] = records().slice(-2);
    expect(first).toMatchObject({ minor: 101, reason: '/certificationRequestInfo: this field is required' });
    expect(second).toMatchObject({ repeated: true, reason: first?.['reason'] });
  });

  it('leaves out what is quoted, and names that no field has', () => {
    const reason = (detail: { at?: string; message?: string }): string => recordedReason(new Refusal('FIELD_INVALID', detail), 'shown');
    expect(reason({ at: '/keyReference/hunter2', message: 'unknown field; did you mean "password"?' })).toBe(
      '/keyReference/…: unknown field; did you mean "password"?',
    );
    expect(reason({ message: 'the ID "a\\"b" and "hunter2 without end' })).toBe('the ID "…" and "…"');
    expect(reason({ message: 'x'.repeat(1000) })).toHaveLength(300);
    expect(recordedReason(new Refusal('DOCUMENT_INVALID', { at: '/inputDocuments/0', message: 'tag hunter2' }), 'shown')).toBe(
      '/inputDocuments/0: the document is not valid for its format',
    );
    expect(recordedReason(new Error('hunter2'), 'internal error; incident 1f')).toBe('internal error; incident 1f');
  });
});
