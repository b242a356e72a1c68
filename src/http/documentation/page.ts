import { version as productVersion } from '../../telemetry/version.ts';
import { html, type Html } from './html.ts';
import { journey, type Stage } from './journey.ts';
import type { Documentation } from './openapi.ts';
import { fileSection, operationSection, operationTitle } from './operation-section.ts';
import { pageScript } from './page-script.ts';
import { codeSection, limitSection, statusSection, type PageLimits } from './reference-sections.ts';
import { styleSheet } from './style-sheet.ts';
import { inWords } from './words.ts';

/** A part of the page, with the operations in it by their names. */
interface Part extends Stage {
  readonly links: readonly { readonly id: string; readonly title: Html }[];
  readonly sections: readonly Html[];
}

/** The page at `/docs`: the OpenAPI document for people. It loads nothing. */
export function documentationPage(documentation: Documentation, limits: PageLimits): string {
  const { info } = documentation.document;
  const parts = journey.filter(({ id }) => id !== 'csc' || hasCsc(documentation)).map((stage) => partOf(stage, documentation));
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>signetd ${productVersion()}: the interface, version ${info.version}</title>
        <style>
          ${styleSheet}
        </style>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        ${navigation(parts)}
        <main id="content" tabindex="-1">
          <header>
            <h1>signetd ${productVersion()} <small>interface ${info.version}</small></h1>
            <p>${inWords(info.description)}</p>
            <p class="tools" hidden>
              <button type="button" id="unfold">Unfold all</button> <button type="button" id="fold">Fold all</button>
            </p>
            <p id="found" role="status"></p>
          </header>
          ${parts.map(
            ({ id, title, text, sections }) =>
              html`<section id="${id}">
                <h2>${title}</h2>
                <p>${inWords(text)}</p>
                ${sections}
              </section>`,
          )}
          ${codeSection()} ${statusSection({ hasCsc: hasCsc(documentation) })} ${limitSection(limits)}
        </main>
        <script>
          ${pageScript};
        </script>
      </body>
    </html> `.markup;
}

/** Whether the API of the Cloud Signature Consortium is offered. */
function hasCsc({ document }: Documentation): boolean {
  return document.components.schemas['CscError'] !== undefined;
}

function partOf(stage: Stage, { document, operations, files }: Documentation): Part {
  const { schemas } = document.components;
  if (stage.operations === 'files') {
    const all = Object.entries(files).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    return {
      ...stage,
      links: all.map(({ path, operation: { operationId: id } }) => ({ id, title: operationTitle(id, path) })),
      sections: all.map(({ path, method, operation }) => fileSection(path, method, operation, schemas)),
    };
  }
  const parts = stage.operations.map((id) => {
    const [path, methods] = Object.entries(operations).find(([, { post }]) => post.operationId === id) ?? [];
    if (path === undefined || methods === undefined) throw new Error(`${id} is no operation`);
    return { link: { id, title: operationTitle(id, path) }, section: operationSection(path, methods.post, schemas) };
  });
  return { ...stage, links: parts.map(({ link }) => link), sections: parts.map((part) => part.section) };
}

function navigation(parts: readonly Part[]): Html {
  return html`<nav aria-label="Contents">
    <p class="brand"><a href="#content">signetd</a> <small>${productVersion()}</small></p>
    <form role="search" hidden>
      <label for="search">Search</label>
      <input id="search" type="search" placeholder="field, operation, code" autocomplete="off" spellcheck="false" />
      <kbd title="this key leads here">/</kbd>
    </form>
    ${parts.map(
      ({ id, title, links }) =>
        html`<h2><a href="#${id}">${title}</a></h2>
          <ul>
            ${links.map((link) => html`<li><a href="#${link.id}">${link.title}</a></li>`)}
          </ul>`,
    )}
    <h2>Reference</h2>
    <ul>
      <li><a href="#codes">Result codes</a></li>
      <li><a href="#statuses">HTTP statuses</a></li>
      <li><a href="#limits">Limits</a></li>
      <li><a href="/openapi.json">openapi.json</a></li>
    </ul>
  </nav>`;
}
