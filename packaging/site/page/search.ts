/** Searches in the page itself: the site has no server, and is read from directories too. Other scripts bring the library and the index. */

interface Found {
  readonly href: string;
  readonly title: string;
  readonly page: string;
  readonly text: string;
  /** Words of the index that matched. */
  readonly terms: readonly string[];
}

interface Query {
  readonly boost: Readonly<Record<string, number>>;
  readonly prefix: (term: string) => boolean;
  readonly fuzzy: (term: string) => number | false;
  readonly combineWith: 'AND';
}

declare const MiniSearch: { loadJS: (index: object, options: object) => { search: (words: string, query: Query) => Found[] } };
declare const signetdIndex: { readonly index: object; readonly options: object };

const shownMax = 40;
const excerptLength = 240;
const query: Query = {
  boost: { title: 4, page: 2 },
  prefix: (term) => term.length > 2,
  fuzzy: (term) => (term.length > 4 ? 0.2 : false),
  combineWith: 'AND',
};

/** The text around the first of the words that were found, with each of them marked. */
function excerpt({ text, terms }: Found): HTMLElement {
  const pattern = new RegExp(terms.map((term) => term.replaceAll(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`)).join('|'), 'giu');
  const begin = Math.max(0, text.search(pattern) - excerptLength / 3);
  const part = text.slice(begin, begin + excerptLength);
  const line = document.createElement('p');
  let last = 0;
  for (const match of part.matchAll(pattern)) {
    const mark = document.createElement('mark');
    mark.textContent = match[0];
    line.append(part.slice(last, match.index), mark);
    last = match.index + match[0].length;
  }
  line.append(part.slice(last), '…');
  return line;
}

function itemOf(found: Found): HTMLElement {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = found.href;
  link.textContent = found.title === found.page ? found.title : `${found.page}: ${found.title}`;
  item.append(link, excerpt(found));
  return item;
}

function show(words: string): void {
  const outcome = document.querySelector('.outcome');
  const field = document.querySelector<HTMLInputElement>('form input');
  if (outcome === null || field === null) return;
  field.value = words;
  if (words.trim() === '') {
    outcome.textContent = 'What do you look for?';
    return;
  }
  const found = MiniSearch.loadJS(signetdIndex.index, signetdIndex.options).search(words, query);
  outcome.textContent = `${found.length} found for “${words}”${found.length > shownMax ? `; the first ${shownMax}:` : ''}`;
  document.querySelector('.results')?.append(...found.slice(0, shownMax).map(itemOf));
}

show(new URLSearchParams(location.search).get('q') ?? '');
