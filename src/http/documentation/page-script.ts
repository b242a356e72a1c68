import { Html } from './html.ts';

/**
 * The page's script: search, unfolding, copying. Without it the page is complete, only without
 * these. It adds no markup and no handlers in markup, as the page's Content-Security-Policy demands.
 */
const text = `
'use strict';
const all = (selector) => [...document.querySelectorAll(selector)];
const search = document.getElementById('search');
const found = document.getElementById('found');
const folds = all('main details');
const usual = new Map(folds.map((fold) => [fold, fold.open]));
const entries = all('[data-find]').map((element) => ({ element, text: textOf(element) }));

// The text of an entry itself, without that of the entries in it.
function textOf(element) {
  const parts = [];
  const add = (node) => {
    if (node.nodeType === Node.TEXT_NODE) parts.push(node.data);
    else if (node === element || !(node.matches && node.matches('[data-find], .sample, .statuses'))) for (const child of node.childNodes) add(child);
  };
  add(element);
  const name = element.querySelector('.name');
  return (parts.join(' ') + ' ' + (name ? name.title : '')).toLowerCase();
}

function show(words) {
  const hits = entries.filter(({ text }) => words.every((word) => text.includes(word)));
  const shown = new Set();
  for (const { element } of hits) {
    for (const inner of element.querySelectorAll('[data-find]')) shown.add(inner);
    for (let at = element; at; at = at.parentElement && at.parentElement.closest('[data-find]')) shown.add(at);
  }
  for (const { element } of entries) {
    element.hidden = !shown.has(element);
    element.classList.toggle('hit', hits.length < entries.length && hits.some((hit) => hit.element === element));
  }
  const inside = new Set(hits.flatMap(({ element }) => foldsAround(element.parentElement)));
  for (const fold of folds) fold.open = words.length === 0 ? usual.get(fold) : inside.has(fold);
  for (const section of all('main section')) section.hidden = words.length > 0 && !section.querySelector('[data-find]:not([hidden])');
  found.textContent = words.length === 0 ? '' : hits.length === 0 ? 'Nothing found.' : hits.length === 1 ? '1 place found.' : hits.length + ' places found.';
}

function foldsAround(element) {
  const around = [];
  for (let at = element; at; at = at.parentElement) if (at.localName === 'details') around.push(at);
  return around;
}

function find() {
  show(search.value.toLowerCase().split(/\\s+/).filter((word) => word !== ''));
}

// A target that is folded or hidden by a search is shown.
function follow() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest('[hidden]')) {
    search.value = '';
    find();
  }
  for (const fold of foldsAround(target)) fold.open = true;
  target.scrollIntoView();
}

document.querySelector('form').hidden = false;
document.querySelector('.tools').hidden = false;
document.querySelector('form').addEventListener('submit', (event) => event.preventDefault());
search.addEventListener('input', find);
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== search && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === 'Escape' && document.activeElement === search) {
    search.value = '';
    find();
  }
});
document.getElementById('unfold').addEventListener('click', () => folds.forEach((fold) => { fold.open = true; }));
document.getElementById('fold').addEventListener('click', () => folds.forEach((fold) => { fold.open = false; }));
for (const button of all('.copy')) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector('pre').textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
}
addEventListener('hashchange', follow);
addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link && link.hash === location.hash) follow();
});
let folded = [];
addEventListener('beforeprint', () => {
  folded = folds.filter((fold) => !fold.open);
  for (const fold of folded) fold.open = true;
});
addEventListener('afterprint', () => folded.forEach((fold) => { fold.open = false; }));
if (location.hash !== '') follow();
`;

export const pageScript = new Html(text);
