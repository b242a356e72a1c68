import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { operationPath } from '../../../src/http/api/operation-path.ts';
import { fieldsOf } from '../../../src/http/documentation/field-tree.ts';
import { html } from '../../../src/http/documentation/html.ts';
import { apiVersion } from '../../../src/http/send.ts';
import type { Operation } from '../../../src/operations/operation.ts';
import { operations } from '../../../src/operations/table.ts';
import { resultCodes } from '../../../src/result-codes.ts';
import { version } from '../../../src/telemetry/version.ts';
import { certificateRequest, contentDocument, description, send, textOf } from '../../support/api.ts';

const OpenApi = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ operationId: z.string(), responses: z.record(z.string(), z.unknown()) })),
  ),
});

const servedAt = (operation: Operation): string => operationPath(operation, { signRoot: '/sign', doc2dRoot: '/doc2d', cscRoot: '/csc' });

describe('/openapi.json', () => {
  it('has every operation of the table and the paths of the transfer store, and no other', async () => {
    const { status, headers, text } = await send('app', { path: '/openapi.json', method: 'GET' });
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    const { paths } = OpenApi.parse(JSON.parse(text));
    expect(Object.keys(paths)).toEqual([...operations.map((operation) => servedAt(operation)), '/ftm/files', '/ftm/files/{fileID}']);
    expect(Object.keys(paths['/ftm/files/{fileID}'] ?? {})).toEqual(['get', 'head', 'delete']);
  });

  it.each(['/openapi.json', '/docs'])('%s is for registered clients, and is read alone', async (path) => {
    expect((await send('unregistered', { path, method: 'GET' })).status).toBe(403);
    const posted = await send('app', { path, method: 'POST' }, '{}');
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD']);
    const head = await send('app', { path, method: 'HEAD' });
    expect([head.status, head.text]).toEqual([200, '']);
  });
});

it('an unknown path says so', async () => {
  const detail = async (path: string): Promise<unknown> => {
    const { status, body } = await send('app', { path }, '{}');
    expect(status).toBe(404);
    return body['detail'];
  };
  expect(await detail('/nothing/of/this/kind')).toBe('nothing is served at this path');
  // A path of ours in another case, with a slash at its end, or misspelt.
  expect(await detail('/sign/signature/remotesign')).toBe('nothing is served at this path; did you mean /sign/signature/remoteSign?');
  expect(await detail('/Docs/')).toBe('nothing is served at this path; did you mean /docs?');
  expect(await detail('/sign/pki/createCertficate?x=1')).toBe('nothing is served at this path; did you mean /sign/pki/createCertificate?');
  // Nothing of the request is repeated.
  expect(await detail('/sign/pki/<script>')).toBe('nothing is served at this path');
});

describe('what the table says of an operation', () => {
  it.each(operations)('$path: its example is a request that it takes', ({ request, example }) => {
    expect(request.safeParse(example).error).toBeUndefined();
  });

  it('and what is answered are the same', async () => {
    const declared = (path: string, answer: object): void => {
      const { result: _result, requestID: _requestID, ...members } = z.looseObject({}).parse(answer);
      expect(operations.find((operation) => operation.path === path)?.answer.safeParse(members).error).toBeUndefined();
    };
    const post = async (path: string, body: object) => {
      const { body: answer } = await send(
        'app',
        { path: `/sign/${path}`, headers: { 'Content-Type': 'application/json' } },
        JSON.stringify(body),
      );
      declared(path, answer);
      return answer;
    };
    const { keyReference } = await post('pki/createCertificate', certificateRequest());
    const reference = { reference: textOf(keyReference?.['reference']), password: textOf(keyReference?.['password']) };
    await post('pki/checkKey', { keyReference: reference });
    const signed = { keyReference: reference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('A document')] };
    await post('signature/sign', signed);
    await post('pki/removeKey', { keyReference: reference });
  });
});

describe('/docs', () => {
  it('names every operation, field and code, and loads nothing', async () => {
    const { status, headers, text } = await send('app', { path: '/docs', method: 'GET' });
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    for (const operation of operations) expect(text).toContain(`<span class="method">POST</span> <code>${servedAt(operation)}</code>`);
    for (const [name, { major, minor }] of Object.entries(resultCodes))
      expect(text.includes(name) && text.includes(`>${major}/${minor}<`)).toBe(true);
    for (const [method, path] of [
      ['POST', '/ftm/files'],
      ['GET', '/ftm/files/{fileID}'],
      ['HEAD', '/ftm/files/{fileID}'],
      ['DELETE', '/ftm/files/{fileID}'],
    ])
      expect(text).toContain(`<span class="method">${method}</span> <code>${path}</code>`);
    expect(text).toContain('/keyReference/reference');
    expect(text).toContain(`<h1>signetd ${version()} <small>interface ${apiVersion}</small></h1>`);
    expect(text).not.toMatch(/<script[^>]|src=|url\(|\son[a-z]+=|\sstyle=|https?:\/\/(?!signetd\.example)/);
    const hashOf = (element: string): string => {
      const content = new RegExp(`<${element}>([^]*?)</${element}>`).exec(text)?.[1] ?? '';
      return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
    };
    expect(headers['content-security-policy']).toBe(
      `default-src 'none';frame-ancestors 'none';style-src ${hashOf('style')};script-src ${hashOf('script')};base-uri 'none';form-action 'none'`,
    );
  });

  it('is the same page on the listener of the operator, for browsers without a client certificate', async () => {
    for (const path of ['/docs', '/openapi.json']) {
      const { text } = await send('app', { path, method: 'GET' });
      const response = await fetch(`${description.opsUrl}${path}`);
      expect([response.status, await response.text()]).toEqual([200, text]);
    }
    const posted = await fetch(`${description.opsUrl}/docs`, { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('escapes everything that it shows', () => {
    expect(html`<p title="${'"'}">${'<b>&'}${html`<i>${1}</i>`}</p>`.markup).toBe('<p title="&quot;">&lt;b&gt;&amp;<i>1</i></p>');
  });

  it('shows fields with their limits, and which of them exclude each other', () => {
    const schemas = {
      Choice: { oneOf: [{ $ref: '#/components/schemas/One' }, { $ref: '#/components/schemas/Other' }] },
      One: {
        type: 'object',
        properties: { id: { type: 'string' }, one: { type: 'integer', minimum: 1, maximum: 9 } },
        required: ['id', 'one'],
      },
      Other: {
        type: 'object',
        properties: { id: { type: 'string' }, other: { type: 'array', minItems: 1, items: { enum: ['A', 'B'] } } },
        required: ['id', 'other'],
      },
    };
    const field = { values: [], limits: [], description: '', fields: [] };
    expect(fieldsOf({ $ref: '#/components/schemas/Choice' }, schemas)).toEqual([
      { ...field, name: 'id', pointer: '/id', type: 'string', need: 'required' },
      { ...field, name: 'one', pointer: '/one', type: 'integer', need: 'one of', limits: ['1 to 9'] },
      {
        ...field,
        name: 'other',
        pointer: '/other',
        type: 'list of choice',
        need: 'one of',
        values: ['A', 'B'],
        limits: ['at least 1 entry'],
      },
    ]);
  });
});
