import { basename } from 'node:path';
import type { Markdown, Token } from '@11ty/eleventy';

/** The file of the site that a page becomes. */
export function fileOf(page: string): string {
  return `${basename(page, '.md')}.html`;
}

/** The anchor of a heading, as GitHub makes it, so that the links between pages work in both places. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/** Gives headings their anchors, and leads links between pages to what these become. `titleOf`: the title of a page. */
export function linkPages(markdown: Markdown, titleOf: (page: string) => string): void {
  markdown.core.ruler.push('pages of the site', ({ tokens }) => {
    const taken = new Map<string, number>();
    for (const [index, token] of tokens.entries()) {
      if (token.type === 'heading_open') {
        const anchor = anchorOf(textOf(tokens[index + 1]));
        const before = taken.get(anchor) ?? 0;
        taken.set(anchor, before + 1);
        token.attrSet('id', before === 0 ? anchor : `${anchor}-${before}`);
      }
      const children = token.children ?? [];
      for (const [place, child] of children.entries()) lead(child, children[place + 1], titleOf);
    }
  });
}

/** A link that shows the name of a page's file shows the title of the page. Other files are beside the directory of the site. */
function lead(token: Token, text: Token | undefined, titleOf: (page: string) => string): void {
  const name = token.type === 'link_open' ? 'href' : 'src';
  const target = token.attrGet(name) ?? '';
  if (target === '' || /^(?:[a-z]+:|#)/.test(target)) return;
  const [, page, anchor = ''] = /^([\w.-]+\.md)(#.*)?$/.exec(target) ?? [];
  token.attrSet(name, page === undefined ? `../${target}` : `${fileOf(page)}${anchor}`);
  if (page !== undefined && text?.content === page) text.content = titleOf(page);
}

/** The text of a heading without its marks. */
function textOf(heading: Token | undefined): string {
  return (heading?.children ?? []).map(({ content }) => content).join('');
}
