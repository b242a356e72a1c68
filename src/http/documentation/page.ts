import { html, type Html } from './html.ts';
import { journey, type Stage } from './journey.ts';
import type { Documentation } from './openapi.ts';
import { fileSection, operationSection } from './operation-section.ts';
import { pageScript } from './page-script.ts';
import { codeSection, limitSection, statusSection, type PageLimits } from './reference-sections.ts';
import { styleSheet } from './style-sheet.ts';
import { inWords } from './words.ts';

/** A part of the page, with the operations in it by their names. */
interface Part extends Stage {
  readonly names: readonly string[];
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
        <title>signetd ${info.version}: the interface</title>
        <style>
          ${styleSheet}
        </style>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        ${navigation(info.version, parts)}
        <main id="content" tabindex="-1">
          <header>
            <h1>signetd <small>interface ${info.version}</small></h1>
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
          ${codeSection()} ${statusSection()} ${limitSection(limits)}
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
      names: all.map(({ operation }) => operation.operationId),
      sections: all.map(({ path, method, operation }) => fileSection(path, method, operation, schemas)),
    };
  }
  const sections = stage.operations.map((name) => {
    const [path, methods] = Object.entries(operations).find(([, { post }]) => post.operationId === name) ?? [];
    if (path === undefined || methods === undefined) throw new Error(`${name} is no operation`);
    return operationSection(path, methods.post, schemas);
  });
  return { ...stage, names: stage.operations, sections };
}

function navigation(version: string, parts: readonly Part[]): Html {
  return html`<nav aria-label="Contents">
    <p class="brand"><a href="#content">signetd</a> <small>${version}</small></p>
    <form role="search" hidden>
      <label for="search">Search</label>
      <input id="search" type="search" placeholder="field, operation, code" autocomplete="off" spellcheck="false" />
      <kbd title="this key leads here">/</kbd>
    </form>
    ${parts.map(
      ({ id, title, names }) =>
        html`<h2><a href="#${id}">${title}</a></h2>
          <ul>
            ${names.map((name) => html`<li><a href="#${name}">${name}</a></li>`)}
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
