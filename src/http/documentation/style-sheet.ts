import { Html } from './html.ts';

const text = `
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2430; --soft: #5b6675; --line: #dde2e9; --well: #f5f7fa; --accent: #0b5cad; --mark: #fff3c9; --need: #a03c0a; --choice: #6a3fa0; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181e; --ink: #dfe5ec; --soft: #99a5b3; --line: #2c343f; --well: #1b2129; --accent: #7db7f5; --mark: #43391a; --need: #f0a374; --choice: #c5a5f0; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, 'Segoe UI', 'Liberation Sans', sans-serif; display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
a { color: var(--accent); text-underline-offset: .15em; } a:not(:hover) { text-decoration-color: color-mix(in srgb, currentColor 35%, transparent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; } main:focus { outline: none; }
code, pre, kbd { font: .875em/1.5 ui-monospace, 'SFMono-Regular', 'Liberation Mono', monospace; }
h1, h2, h3, h4, p { margin: 0; } small { color: var(--soft); font-weight: 400; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -100vw; } .skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .3rem .6rem; z-index: 1; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem 1.25rem 2rem; border-right: 1px solid var(--line); background: var(--well); font-size: .93rem; }
nav a { color: inherit; text-decoration: none; } nav a:hover { color: var(--accent); text-decoration: underline; }
nav .brand { font-size: 1.15rem; font-weight: 650; } nav h2 { margin: 1.4rem 0 .35rem; font-size: .78rem; text-transform: uppercase; letter-spacing: .05em; color: var(--soft); }
nav ul { list-style: none; margin: 0; padding: 0; } nav li a { display: block; padding: .13rem 0; }
form { position: relative; margin-top: 1rem; } form label { display: block; font-size: .78rem; color: var(--soft); }
input { width: 100%; padding: .42rem 2rem .42rem .6rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; }
kbd { position: absolute; right: .5rem; bottom: .45rem; padding: 0 .35rem; border: 1px solid var(--line); border-radius: .25rem; color: var(--soft); background: var(--well); } input:focus + kbd { display: none; }
main { padding: 2rem 3rem 6rem; max-width: 66rem; }
header p { margin-top: .6rem; max-width: 46rem; } h1 { font-size: 2rem; line-height: 1.2; } h1 small { font-size: 1rem; }
button { font: inherit; font-size: .85rem; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .35rem; padding: .2rem .7rem; cursor: pointer; } button:hover { border-color: var(--accent); color: var(--accent); }
main section { margin-top: 2.75rem; } main section > h2 { font-size: 1.35rem; } main section > p { margin: .35rem 0 1rem; max-width: 46rem; color: var(--soft); }
summary { cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
.operation { border: 1px solid var(--line); border-radius: .5rem; margin: .6rem 0; }
.operation > summary { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: .2rem 1rem; padding: .65rem 1rem; align-items: baseline; border-radius: .5rem; }
#csc .operation > summary { grid-template-columns: minmax(0, 21rem) minmax(0, 1fr); }
.operation > summary:hover { background: var(--well); } .operation[open] > summary { border-bottom: 1px solid var(--line); border-radius: .5rem .5rem 0 0; background: var(--well); }
.operation h3 { font-size: 1rem; overflow-wrap: anywhere; } .operation h3::before, .fields summary .head::before { content: '▸'; display: inline-block; width: 1.1em; color: var(--soft); font-size: .85em; }
.operation[open] > summary h3::before, .fields details[open] > summary .head::before { content: '▾'; }
.says { color: var(--soft); } .body { padding: 1rem 1.25rem 1.25rem; scroll-margin-top: 4rem; } .body > p { margin-bottom: .5rem; max-width: 46rem; }
.call code { font-size: 1rem; font-weight: 600; overflow-wrap: anywhere; } .method { font-size: .75rem; font-weight: 700; letter-spacing: .04em; padding: .12rem .45rem; border-radius: .3rem; color: var(--paper); background: var(--accent); vertical-align: .1em; }
h4 { margin: 1.4rem 0 .4rem !important; font-size: .95rem; }
.fields { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); } .fields .fields { margin: 0 0 .6rem .45rem; padding-left: .9rem; border: 0; border-left: 2px solid var(--line); }
.fields > li { border-bottom: 1px solid var(--line); } .fields .fields > li:last-child { border-bottom: 0; }
.field { display: grid; grid-template-columns: minmax(0, 21rem) minmax(0, 1fr); gap: .1rem 1.2rem; padding: .42rem 0; } .fields .fields .field { grid-template-columns: minmax(0, 19rem) minmax(0, 1fr); } .fields .fields .fields .field { grid-template-columns: minmax(0, 17rem) minmax(0, 1fr); }
.fields summary:hover .name { color: var(--accent); } .name { font-weight: 600; overflow-wrap: anywhere; } .type { color: var(--soft); font-size: .84rem; overflow-wrap: anywhere; }
.badge { font-size: .72rem; font-weight: 600; white-space: nowrap; } .required { color: var(--need); } .choice { color: var(--choice); }
.meaning { overflow-wrap: anywhere; font-size: .93rem; } .limits { color: var(--soft); } .limits::before { content: '· '; } .note { font-size: .88rem; color: var(--choice); margin: .2rem 0 .4rem; } .none { color: var(--soft); }
.values { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem .4rem; margin: .25rem 0 0; padding: 0; } .values code { background: var(--well); border: 1px solid var(--line); border-radius: .25rem; padding: 0 .3rem; font-size: .78rem; }
.long > summary { color: var(--accent); font-size: .85rem; } .statuses { margin-top: .8rem; font-size: .9rem; color: var(--soft); }
.sample { position: relative; } .copy { position: absolute; right: .5rem; top: .5rem; } pre { margin: 0; padding: .9rem 1rem; overflow: auto; background: var(--well); border: 1px solid var(--line); border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .4rem 1rem .4rem 0; border-bottom: 1px solid var(--line); } th { font-weight: 600; white-space: nowrap; } thead th { color: var(--soft); font-size: .85rem; } td { overflow-wrap: anywhere; } tr { scroll-margin-top: 30vh; } #codes td:nth-child(2) { white-space: nowrap; }
tr:target, .hit > .field, .hit > details > summary > .field, tr.hit, .operation.hit > summary { background: var(--mark); }
@media (max-width: 56rem) {
body { display: block; } nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); padding: 1rem; } nav h2 { margin: .7rem 0 .1rem; } nav li { display: inline-block; margin-right: .9rem; } main { padding: 1.25rem 1rem 4rem; }
.operation > summary, #csc .operation > summary, .field, .fields .fields .field, .fields .fields .fields .field { grid-template-columns: minmax(0, 1fr); } .body { padding: .8rem; scroll-margin-top: 7rem; } .fields .fields { margin-left: 0; padding-left: .6rem; }
th { white-space: normal; }
#codes tr { display: grid; grid-template-columns: 4rem minmax(0, 1fr); padding: .4rem 0; border-bottom: 1px solid var(--line); } #codes thead { display: none; } #codes th, #codes td { border: 0; padding: 0; } #codes td:nth-child(3) { grid-column: 2; }
}
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
@media print { nav, .tools, .copy, .skip { display: none; } body { display: block; font-size: 10pt; } main { padding: 0; max-width: none; } .operation { border: 0; border-top: 1px solid var(--line); border-radius: 0; } ::details-content { content-visibility: visible; } pre { white-space: pre-wrap; } h2, h3, h4 { break-after: avoid; } .fields > li { break-inside: auto; } tr { break-inside: avoid; } }
`;

/** The page's style sheet, as the content of its style element. */
export const styleSheet = new Html(text);
