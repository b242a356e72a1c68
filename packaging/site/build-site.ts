import { Eleventy, type PageData } from '@11ty/eleventy';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contentIn, pageOf, type Section } from './layout.ts';
import { fileOf, linkPages } from './links.ts';
import { searchIndex } from './search-index.ts';

const own = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/**
 * Writes the documents as a site of static pages with a search, which needs no server. `pages`: a directory of Markdown pages without
 * subdirectories, of which `index.md` lists the others under headings. `output` is a directory in it: pictures and other files that pages
 * link to stay where they are.
 */
export async function buildSite(pages: string, output: string, version: string): Promise<void> {
  const sections = sectionsOf(readFileSync(join(pages, 'index.md'), 'utf8'));
  const titleIn = (page: string): string => titleOf(join(pages, page));
  mkdirSync(output, { recursive: true });
  const site = new Eleventy(pages, output, {
    quietMode: true,
    configPath: false,
    config: (config) => {
      config.setUseGitIgnore(false);
      config.setTemplateFormats(['md', '11ty.js']);
      // Pages are Markdown alone: braces in them are theirs.
      config.addGlobalData('templateEngineOverride', 'md');
      config.addGlobalData(
        'permalink',
        () =>
          ({ page }: PageData) =>
            fileOf(page.inputPath),
      );
      config.addGlobalData('layout', 'page.11ty.js');
      config.addGlobalData('site', { sections, version });
      config.amendLibrary('md', (markdown) => {
        linkPages(markdown, titleIn);
      });
      config.addTemplate('_includes/page.11ty.js', { render: layout });
    },
  });
  site.disableLogger();
  await site.write();
  const written = readdirSync(output).filter((name) => name.endsWith('.html'));
  if (written.length === 0) throw new Error(`${pages}: no page was written`);
  const scripts = ['minisearch.js', 'search-index.js', 'search.js'];
  const search = '<h1>Search</h1>\n<p class="outcome">The search needs JavaScript.</p>\n<ol class="results"></ol>';
  writeFileSync(join(output, 'search.html'), pageOf({ file: 'search.html', title: 'Search', content: search, sections, version, scripts }));
  writeFileSync(
    join(output, 'search-index.js'),
    searchIndex(new Map(written.map((name) => [name, contentIn(readFileSync(join(output, name), 'utf8'))]))),
  );
  const library = createRequire(import.meta.url).resolve('minisearch');
  cpSync(join(library, '../../umd/index.js'), join(output, 'minisearch.js'));
  cpSync(own('site.css'), join(output, 'site.css'));
  writeFileSync(join(output, 'search.js'), stripTypeScriptTypes(readFileSync(own('page/search.ts'), 'utf8')));
}

/** Depends on what it is given alone: Eleventy keeps layouts from one site to the next. */
function layout({ content, page: { inputPath }, site: { sections, version } }: PageData): string {
  return pageOf({ file: fileOf(inputPath), title: titleOf(inputPath), content: withFocus(content), sections, version });
}

/** What may be wider than the page can be scrolled with the keyboard too. */
function withFocus(html: string): string {
  return html.replaceAll(/<(pre|table)>/g, '<$1 tabindex="0">');
}

function titleOf(path: string): string {
  return (/^# (.+)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? basename(path, '.md')).replaceAll('`', '');
}

/** The headings of the index, each with the pages that its list leads to, once. */
function sectionsOf(index: string): Section[] {
  return index.split(/^## /m).flatMap((part) => {
    const [title = ''] = part.split('\n', 1);
    const links = part.matchAll(/^- .*?\[([^\]]+)\]\(([\w-]+\.md)(?:#[^)]*)?\)/gms);
    const entries = new Map(Array.from(links, ([, text = '', page = '']) => [fileOf(page), text.replaceAll('`', '')]));
    const section = { title, entries: Array.from(entries, ([file, text]) => ({ file, title: text })) };
    return entries.size === 0 || part === index ? [] : [section];
  });
}
