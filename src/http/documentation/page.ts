import { resultCodes } from '../../result-codes.ts';
import { fieldRows } from './field-rows.ts';
import { html, type Html } from './html.ts';
import type { FilePaths } from './file-paths.ts';
import { problemStatuses, type OpenApiDocument, type OpenApiOperation, type OperationPaths } from './openapi.ts';
import type { Schema } from './schema.ts';
import { styleSheet } from './style-sheet.ts';

const maxDepth = 8;

/** Limits that hold for every request. */
export interface PageLimits {
  readonly jsonBodyMaxBytes: number;
  readonly documentsMax: number;
}

/** The paths that the page shows. */
export interface PagePaths {
  readonly operations: OperationPaths;
  readonly files: FilePaths;
}

/** The page at `/docs`: the OpenAPI document for people. It loads nothing. */
export function documentationPage(api: OpenApiDocument, paths: PagePaths, limits: PageLimits): string {
  const operations = Object.entries(paths.operations).map(([path, { post }]) => ({ path, operation: post }));
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>signetd ${api.info.version}</title>
        <style>
          ${styleSheet}
        </style>
      </head>
      <body>
        <nav>
          <strong>signetd ${api.info.version}</strong>
          <ul>
            ${operations.map(({ operation: { operationId } }) => html`<li><a href="#${operationId}">${operationId}</a></li>`)}
            <li><a href="#files">files</a></li>
            <li><a href="#statuses">HTTP statuses</a></li>
            <li><a href="#codes">Result codes</a></li>
            <li><a href="#limits">Limits</a></li>
            <li><a href="/openapi.json">openapi.json</a></li>
          </ul>
        </nav>
        <main>
          <h1>signetd</h1>
          <p>${api.info.description}</p>
          ${operations.map(operationSection)} ${filesSection(paths.files)} ${statusSection()} ${codeSection()} ${limitSection(limits)}
        </main>
      </body>
    </html> `.markup;
}

function operationSection({ path, operation }: { path: string; operation: OpenApiOperation }): Html {
  const { schema, example } = operation.requestBody.content['application/json'];
  return html`<section id="${operation.operationId}">
    <h2>${operation.operationId}</h2>
    <p><code class="path">POST ${path}</code></p>
    <p>${operation.summary} ${inWords(operation.description)}</p>
    <h3>Request</h3>
    ${fieldTable(schema)}
    <h3>Answer</h3>
    ${fieldTable(answerSchemaOf(operation))}
    <h3>Example</h3>
    <pre>${curl(path, example)}</pre>
  </section>`;
}

function filesSection(files: FilePaths): Html {
  const rows = Object.entries(files).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { summary, responses }]) =>
        html`<tr>
          <td><code>${method.toUpperCase()} ${path}</code></td>
          <td>
            ${summary}
            <div class="limits">
              ${Object.entries(responses).map(([status, { description }]) => html`<div>${status}: ${inWords(description)}</div>`)}
            </div>
          </td>
        </tr>`,
    ),
  );
  return html`<section id="files">
    <h2>files</h2>
    <p>
      The file transfer store, for clients with the role <code>files</code>. What is uploaded belongs to the tenant of the client, is a
      document of requests by <code>FTMData</code>, and expires; outputMode <code>FTM</code> puts evidence there.
    </p>
    <table>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </section>`;
}

/** `code` in a description is set as such. */
function inWords(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

function answerSchemaOf({ responses }: OpenApiOperation): Schema {
  return responses['200']?.content['application/json']?.schema ?? {};
}

/** Fields stand below the object that holds them; a list's `*` is no level of its own. */
function depthOf(pointer: string): number {
  return Math.min(maxDepth, pointer.replaceAll('/*', '').split('/').length - 2);
}

function fieldTable(schema: Schema): Html {
  const rows = fieldRows(schema).map(
    ({ pointer, type, required, description, limits }) =>
      html`<tr>
        <td>
          <code class="d${depthOf(pointer)}" title="${pointer}">${pointer.slice(pointer.lastIndexOf('/') + 1)}</code
          >${required ? html` <span class="required" title="required where the object around it is given">required</span>` : ''}
        </td>
        <td>${type}</td>
        <td>${inWords(description)}${limits.length === 0 ? '' : html`<div class="limits">${limits.join('; ')}</div>`}</td>
      </tr>`,
  );
  return html`<table class="fields">
    <thead>
      <tr>
        <th>field</th>
        <th>type</th>
        <th>meaning</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}

function curl(path: string, example: object): string {
  return [
    'curl --cacert ca.pem --cert client.pem --key client.key \\',
    "  --header 'Content-Type: application/json' \\",
    `  https://signetd.example:8443${path} --data @- <<'END'`,
    JSON.stringify(example, undefined, 2),
    'END',
  ].join('\n');
}

function statusSection(): Html {
  const rows = Object.entries(problemStatuses).map(
    ([status, text]) =>
      html`<tr>
        <td>${status}</td>
        <td>${text}</td>
      </tr>`,
  );
  return html`<section id="statuses">
    <h2>HTTP statuses</h2>
    <p>
      200 is every business outcome, failures included. The others come with <code>application/problem+json</code> (RFC 9457). Without a
      client certificate, or with one that is not trusted, the connection is closed before any answer.
    </p>
    <table>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </section>`;
}

function codeSection(): Html {
  const rows = Object.entries(resultCodes).map(
    ([name, { major, minor, text }]) =>
      html`<tr>
        <td>${major}</td>
        <td>${minor}</td>
        <td><code>${name}</code></td>
        <td>${text}</td>
      </tr>`,
  );
  return html`<section id="codes">
    <h2>Result codes</h2>
    <p>
      Major 0 is success. Major 1: the request itself is wrong, and will be wrong again. Major 2: it was well formed, and could not be
      carried out.
    </p>
    <table>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </section>`;
}

function limitSection({ jsonBodyMaxBytes, documentsMax }: PageLimits): Html {
  return html`<section id="limits">
    <h2>Limits</h2>
    <table>
      <tbody>
        <tr>
          <td>body</td>
          <td>${jsonBodyMaxBytes.toLocaleString('en')} bytes</td>
        </tr>
        <tr>
          <td>documents a request</td>
          <td>${documentsMax}</td>
        </tr>
        <tr>
          <td>nesting of JSON</td>
          <td>64 levels</td>
        </tr>
        <tr>
          <td>numbers</td>
          <td>integers within ±(2<sup>53</sup> − 1)</td>
        </tr>
      </tbody>
    </table>
  </section>`;
}
