/** One page of the navigation. */
export interface Entry {
  readonly title: string;
  readonly file: string;
}

/** A group of pages, in the order of the index. */
export interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
}

interface Page {
  readonly file: string;
  readonly title: string;
  /** HTML. */
  readonly content: string;
  readonly sections: readonly Section[];
  readonly version: string;
  /** Scripts that it loads. Pages of text have none. */
  readonly scripts?: readonly string[];
}

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (mark) => marks[mark] ?? mark);
}

/** One whole page of the site. Every link is relative, so that it can be read from a directory too. */
export function pageOf({ file, title, content, sections, version, scripts = [] }: Page): string {
  const here = (entry: Entry): string => (entry.file === file ? ' aria-current="page"' : '');
  const link = (entry: Entry): string => `<li><a href="${escaped(entry.file)}"${here(entry)}>${escaped(entry.title)}</a></li>`;
  const group = (section: Section): string => {
    const open = section.entries.some((entry) => entry.file === file) || file === 'index.html' ? ' open' : '';
    return `<details${open}><summary>${escaped(section.title)}</summary><ul>${section.entries.map(link).join('')}</ul></details>`;
  };
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} – signetd</title>
<link rel="stylesheet" href="site.css">
${scripts.map((script) => `<script defer src="${escaped(script)}"></script>\n`).join('')}</head>
<body>
<a class="skip" href="#content">To the text</a>
<header>
<a class="name" href="index.html">signetd <small>${escaped(version)}</small></a>
<form action="search.html" role="search"><input type="search" name="q" aria-label="Search the documentation" placeholder="Search"><button>Search</button></form>
</header>
<div class="columns">
<nav aria-label="Pages">${sections.map(group).join('\n')}</nav>
<main id="content">
${content}
</main>
</div>
</body>
</html>
`;
}

/** The content of a page that `pageOf` made. */
export function contentIn(page: string): string {
  return /<main id="content">\n(.*)\n<\/main>/s.exec(page)?.[1] ?? '';
}
