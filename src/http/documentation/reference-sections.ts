import { resultCodes } from '../../result-codes.ts';
import type { LimitsConfig } from '../../config/limits-config.ts';
import { html, type Html } from './html.ts';
import { problemStatuses } from './problems.ts';
import { codeAnchor, inWords, statusAnchor } from './words.ts';

/** Limits that hold for every request. */
export type PageLimits = Pick<
  LimitsConfig,
  'jsonBodyMaxBytes' | 'jsonValuesMax' | 'documentsMax' | 'requestsPerSecond' | 'otpsPerMinute' | 'messagesPerMinute'
>;

/** The catalogue of result codes. Each row has an anchor, and leads to itself. */
export function codeSection(): Html {
  const rows = [['SUCCESS', { major: 0, minor: 0, text: 'success' }] as const, ...Object.entries(resultCodes)].map(
    ([name, { major, minor, text }]) =>
      html`<tr id="${codeAnchor(minor)}" data-find>
        <th scope="row"><a href="#${codeAnchor(minor)}">${major === 0 ? '0/0' : `${major}/${minor}`}</a></th>
        <td><code>${name}</code></td>
        <td>${text}</td>
      </tr>`,
  );
  return html`<section id="codes">
    <h2>Result codes</h2>
    <p>
      Major and minor, as in <code>result</code>. Major 0 is success. Major 1: the request itself is wrong, and will be wrong again. Major
      2: it was well formed, and could not be carried out.
    </p>
    ${table(['code', 'name', 'meaning'], rows)}
  </section>`;
}

/** The HTTP statuses other than success. */
export function statusSection({ hasCsc }: { readonly hasCsc: boolean }): Html {
  const rows = problemStatuses.map(
    ([status, text]) =>
      html`<tr id="${statusAnchor(status)}" data-find>
        <th scope="row"><a href="#${statusAnchor(status)}">${status}</a></th>
        <td>${inWords(text)}</td>
      </tr>`,
  );
  return html`<section id="statuses">
    <h2>HTTP statuses</h2>
    <p>
      200 is every business outcome, failures included. The others come with <code>application/problem+json</code> (RFC 9457):
      <code>title</code>, <code>status</code>, <code>detail</code>, and <code>position</code> where a byte of the body is at fault. Without
      a client certificate, or with one that is not trusted, the connection is closed before any answer.
      ${hasCsc ? 'A method of the Cloud Signature Consortium that fails has a status other than 200, with error and error_description; 400 is every refusal.' : ''}
    </p>
    ${table(['status', 'meaning'], rows)}
  </section>`;
}

/** The limits in force. */
export function limitSection(limits: PageLimits): Html {
  const rows = [
    ['size of a JSON body', `${limits.jsonBodyMaxBytes.toLocaleString('en')} bytes`],
    ['values in a JSON body', limits.jsonValuesMax.toLocaleString('en')],
    ['nesting of a JSON body', '64 levels'],
    ['integers', '±(2^53 − 1)'],
    ['documents, or digests, of a request', limits.documentsMax.toLocaleString('en')],
    ['requests of a client', `${limits.requestsPerSecond.toLocaleString('en')} a second`],
    ['one-time passwords of a client', `${limits.otpsPerMinute.toLocaleString('en')} a minute`],
    ['messages of a client', `${limits.messagesPerMinute.toLocaleString('en')} a minute`],
  ].map(
    ([what = '', value = '']) =>
      html`<tr data-find>
        <th scope="row">${what}</th>
        <td>${value}</td>
      </tr>`,
  );
  return html`<section id="limits">
    <h2>Limits</h2>
    <p>As the configuration of this service sets them.</p>
    ${table(['limit', 'at most'], rows)}
  </section>`;
}

function table(heads: readonly string[], rows: readonly Html[]): Html {
  return html`<table>
    <thead>
      <tr>
        ${heads.map((head) => html`<th scope="col">${head}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}
