import { choiceNote, fieldList } from './field-list.ts';
import { fieldsOf } from './field-tree.ts';
import type { FileOperation } from './file-paths.ts';
import { html, type Html } from './html.ts';
import type { OpenApiOperation } from './openapi.ts';
import type { OpenApiResponse } from './problems.ts';
import type { Schema, Schemas } from './schema.ts';
import { inWords, statusAnchor } from './words.ts';

/** Returns an operation, folded: what it does, its request and answer, an example. */
export function operationSection(path: string, operation: OpenApiOperation, schemas: Schemas): Html {
  const { schema, example } = operation.requestBody.content['application/json'];
  const request = fieldsOf(schema, schemas);
  const body = html`<h4>Request</h4>
    ${choiceNote(request)}${fieldList(request)}
    <h4>Answer</h4>
    <p>${inWords((operation.responses['200'] ?? operation.responses['204'])?.description ?? '')}</p>
    ${operation.responses['200'] === undefined ? '' : fieldList(fieldsOf(answerSchemaOf(operation.responses), schemas))}
    ${statusLine(operation.responses)}
    <h4>Example</h4>
    ${sample(curl(path, `--header 'Content-Type: application/json' \\\n  --data @- <<'END'`, `\n${JSON.stringify(example, undefined, 2)}\nEND`))}`;
  return section({ method: 'post', path, operation }, body);
}

/** Returns an operation of the file transfer store, folded. */
export function fileSection(path: string, method: string, operation: FileOperation, schemas: Schemas): Html {
  const answer = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
  const fields = fieldsOf(answerSchemaOf(operation.responses), schemas);
  const body = html`<h4>Answer</h4>
    ${answer.map(([status, { description }]) => html`<p>${status}: ${description ?? ''}</p>`)}
    ${fields.length === 0 ? '' : fieldList(fields)} ${statusLine(operation.responses)}
    <h4>Example</h4>
    ${sample(curl(path, fileOptions[method] ?? ''))}`;
  return section({ method, path, operation }, body);
}

const fileOptions: Readonly<Record<string, string>> = {
  post: "--header 'Content-Type: application/pdf' \\\n  --header 'X-File-Name: contract.pdf' --data-binary @contract.pdf",
  get: '--output contract.pdf',
  head: '--head',
  delete: '--request DELETE',
};

interface Described {
  readonly method: string;
  readonly path: string;
  readonly operation: Pick<FileOperation, 'operationId' | 'summary' | 'description'>;
}

/** The name of an operation for people; a method of the Cloud Signature Consortium with its version. */
export function operationTitle(operationId: string, path: string): Html {
  const [, version, group = '', name] = /\/(v\d)\/(\w+\/)?(\w+)$/.exec(path) ?? [];
  if (!operationId.startsWith('csc') || version === undefined || name === undefined) return html`${operationId}`;
  return html`${version} ${group}<wbr />${name}`;
}

/** The anchor is inside: a browser unfolds what holds the target of a link. */
function section({ method, path, operation: { operationId, summary, description } }: Described, body: Html): Html {
  return html`<details class="operation" data-find>
    <summary>
      <h3>${operationTitle(operationId, path)}</h3>
      <span class="says">${inWords(summary)}</span>
    </summary>
    <div class="body" id="${operationId}">
      <p class="call"><span class="method">${method.toUpperCase()}</span> <code>${path}</code></p>
      <p>${inWords(description)}</p>
      ${body}
    </div>
  </details>`;
}

function answerSchemaOf(responses: Readonly<Record<string, OpenApiResponse>>): Schema {
  return (responses['200'] ?? responses['201'])?.content?.['application/json']?.schema ?? {};
}

function statusLine(responses: Readonly<Record<string, OpenApiResponse>>): Html {
  const problems = Object.keys(responses).filter((status) => !status.startsWith('2'));
  return html`<p class="statuses">
    Other HTTP statuses:
    ${problems.map((status, index) => html`${index === 0 ? '' : ', '}<a href="#${statusAnchor(status)}">${status}</a>`)}
  </p>`;
}

function sample(text: string): Html {
  return html`<div class="sample">
    <button type="button" class="copy" hidden>Copy</button>
    <pre tabindex="0">${text}</pre>
  </div>`;
}

function curl(path: string, options: string, input = ''): string {
  return `curl --cacert ca.pem --cert client.pem --key client.key \\\n  ${options.includes('<<') ? `https://signetd.example:8443${path} \\\n  ${options}` : `${options} \\\n  https://signetd.example:8443${path}`}${input}`;
}
