import MiniSearch from 'minisearch';

/** One section of a page, as it is found and shown. */
interface Part {
  readonly id: number;
  readonly href: string;
  /** Of the section. */
  readonly title: string;
  /** Title of the page. */
  readonly page: string;
  readonly text: string;
}

const options = { fields: ['title', 'page', 'text'], storeFields: ['href', 'title', 'page', 'text'] };
const references: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** The index of all sections of pages, HTML by the names of their files, as a script: a page that is read from a directory may load scripts, but no other files. */
export function searchIndex(pages: ReadonlyMap<string, string>): string {
  const index = new MiniSearch<Part>(options);
  const sorted = [...pages].toSorted(([one], [other]) => (one < other ? -1 : 1));
  index.addAll(sorted.flatMap(([file, content]) => partsOf(file, content)).map((part, id) => ({ ...part, id })));
  return `const signetdIndex = ${JSON.stringify({ index, options })};\n`;
}

function partsOf(file: string, content: string): Omit<Part, 'id'>[] {
  const page = textOf(/<h1[^>]*>(.*?)<\/h1>/s.exec(content)?.[1] ?? file);
  return content
    .split(/(?=<h[1-4] id=")/)
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [, anchor, heading = ''] = /^<h[1-4] id="([^"]*)"[^>]*>(.*?)<\/h[1-4]>/s.exec(part) ?? [];
      const title = textOf(heading);
      return { href: anchor === undefined ? file : `${file}#${anchor}`, title: title === '' ? page : title, page, text: textOf(part) };
    });
}

/** What a reader sees of HTML, in one line. */
function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(#?\w+);/g, (reference, name: string) => references[name] ?? reference)
    .replaceAll(/\s+/g, ' ')
    .trim();
}
