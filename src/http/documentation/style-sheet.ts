import { createHash } from 'node:crypto';
import { Html } from './html.ts';

const text = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --soft: color-mix(in srgb, currentColor 6%, transparent); }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 15rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem; border-right: 1px solid var(--line); }
nav ul { list-style: none; padding: 0; } nav li { margin: .35rem 0; }
main { padding: 1.5rem 2.5rem 4rem; max-width: 70rem; }
h1 { margin-top: 0; } h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; } h3 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
a { color: inherit; } code, pre { font: .86em/1.45 ui-monospace, monospace; } .path { font-size: 1rem; font-weight: 600; }
pre { background: var(--soft); padding: 1rem; overflow: auto; border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); }
.fields { table-layout: fixed; } .fields th:nth-child(1) { width: 42%; } .fields th:nth-child(2) { width: 20%; } .fields td { overflow-wrap: anywhere; }
${Array.from({ length: 9 }, (_, depth) => `.d${depth} { margin-left: ${depth * 1.2}rem; }`).join(' ')} th { font-weight: 600; }
.required { font-size: .75rem; padding: 0 .4rem; border: 1px solid var(--line); border-radius: 1rem; white-space: nowrap; }
.limits { font-size: .85rem; opacity: .75; overflow-wrap: anywhere; }
@media (max-width: 50rem) {
body { display: block; } nav { position: static; height: auto; border: 0; padding: 1rem 1rem 0; } nav li { display: inline-block; margin: .2rem .8rem .2rem 0; } main { padding: 1rem; }
#codes tr { display: grid; grid-template-columns: 1.5rem 3rem minmax(0, 1fr); padding: .4rem 0; border-bottom: 1px solid var(--line); } #codes td { border: 0; padding: 0; }
#codes td:nth-child(4) { grid-column: 3; }
.fields thead { display: none; } .fields, .fields tbody, .fields tr, .fields td { display: block; width: auto; } .fields tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
.fields td { border: 0; padding: 0; } .fields td:nth-child(2) { font-size: .85rem; opacity: .75; }
${Array.from({ length: 9 }, (_, depth) => `.fields tr:has(.d${depth}) { padding-left: ${depth * 0.8}rem; } .fields .d${depth} { margin-left: 0; }`).join(' ')}
}
@media print { nav { display: none; } body { display: block; } }
`;

/** The page's style sheet, as the content of its style element. */
export const styleSheet = new Html(text);

/** Returns its name in Content-Security-Policy (CSP Level 3 §2.3.1). */
export function styleHash(page: string): string {
  const content = /<style>([^]*?)<\/style>/.exec(page)?.[1] ?? '';
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}
