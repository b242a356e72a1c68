import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { madePdf, usualObjects } from '../../../../pdf/made-pdf.ts';
import { rewritten } from '../rewritten-pdf.ts';
import { richPdf } from '../rich-pdf.ts';
import { deepPdf } from './deep-pdf.ts';

/** A file in which is searched. */
export interface SearchedFile {
  /** Producer and name. */
  readonly name: string;
  readonly bytes: Buffer;
}

/** Interpreter that has ReportLab, pypdf, pikepdf, PyMuPDF and fpdf2, or some of them. */
const python = process.env['SIGNETD_CORPUS_PYTHON'] || 'python3';
const processMs = 120_000;

/** Returns false if it is not installed, or does not do it here. */
function run(program: string, options: readonly string[], directory: string): boolean {
  return spawnSync(program, options, { cwd: directory, timeout: processMs, stdio: 'ignore' }).status === 0;
}

const page = `<html lang="en"><head><title>Contract</title></head><body><h1>Contract</h1><p>PAY 100 to Zoé</p>
<form><input type="text" name="amount" value="100"><input type="checkbox" name="agreed"><select name="c"><option>a<option>b</select></form>
<a href="https://example.org">link</a><h2>Clause</h2><p style="page-break-before: always">Page two</p></body></html>`;

const source = String.raw`\pdfminorversion=5\pdfobjcompresslevel=2\documentclass{article}\usepackage{hyperref}
\begin{document}\section{Contract}\label{a}PAY 100 \ref{a}
\begin{Form}\TextField[name=amount,value=100]{Amount}\CheckBox[name=yes]{Yes}\ChoiceMenu[name=pick]{Pick}{a,b}\end{Form}
\newpage\section{Annex} end\end{document}`;

const drawing = '/Helvetica findfont 24 scalefont setfont 1 1 2 { 72 700 moveto (Page: PAY 100) show pop showpage } for';

const officeFilter = `pdf:writer_web_pdf_Export:${JSON.stringify({
  ExportFormFields: { type: 'boolean', value: 'true' },
  UseTaggedPDF: { type: 'boolean', value: 'true' },
})}`;

type Producer = readonly [name: string, make: (directory: string) => boolean];

const programs: readonly Producer[] = [
  [
    'chromium',
    (directory) =>
      run(
        'chromium',
        [
          ...['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${directory}/profile`, '--generate-pdf-document-outline'],
          ...[`--print-to-pdf=${directory}/tagged.pdf`, `file://${directory}/page.html`],
        ],
        directory,
      ),
  ],
  [
    'libreoffice',
    (directory) =>
      run(
        'soffice',
        [`-env:UserInstallation=file://${directory}/profile`, '--headless', '--convert-to', officeFilter, 'page.html'],
        directory,
      ),
  ],
  ['pdftex', (directory) => run('pdflatex', ['-interaction=nonstopmode', 'source.tex'], directory)],
  [
    'ghostscript',
    (directory) => run('gs', ['-q', '-dBATCH', '-dNOPAUSE', '-sDEVICE=pdfwrite', '-sOutputFile=drawn.pdf', 'drawing.ps'], directory),
  ],
  ...['reportlab', 'pypdf', 'pikepdf', 'pymupdf', 'fpdf'].map((library): Producer => [
    library,
    (directory) => run(python, [fileURLToPath(new URL('python_files.py', import.meta.url)), library, directory], directory),
  ]),
];

const shapes: Readonly<Record<string, readonly string[]>> = {
  packed: ['--object-streams=generate', '--stream-data=compress'],
  linear: ['--linearize', '--object-streams=disable'],
  readable: ['--qdf'],
};

function byHand(): readonly SearchedFile[] {
  const made: SearchedFile[] = [
    { name: 'hand: rich', bytes: richPdf() },
    { name: 'hand: deep', bytes: deepPdf() },
    ...(['TABLE', 'STREAM', 'OBJECT_STREAMS', 'HYBRID'] as const).map((shape) => ({
      name: `hand: ${shape.toLowerCase()}`,
      bytes: madePdf(usualObjects(), { shape, isCompressed: true, outside: [1, 2, 3] }),
    })),
  ];
  const rewrites = ['hand: rich', 'hand: deep'].flatMap((name) =>
    Object.entries(shapes).map(([shape, options]) => ({
      name: `qpdf: ${name.replace('hand: ', '')} ${shape}`,
      bytes: rewritten(made.find((one) => one.name === name)?.bytes ?? Buffer.of(), options),
    })),
  );
  return [...made, ...rewrites];
}

/** Returns the files that can be made on this machine. `missing`: producers that there are not. */
export function searchedFiles(root: string): { readonly files: readonly SearchedFile[]; readonly missing: readonly string[] } {
  const missing: string[] = [];
  const files = [...byHand()];
  for (const [name, make] of programs) {
    const directory = join(root, name);
    mkdirSync(directory);
    for (const [input, text] of Object.entries({ 'page.html': page, 'source.tex': source, 'drawing.ps': drawing }))
      writeFileSync(join(directory, input), text);
    make(directory);
    const made = readdirSync(directory).filter((one) => one.endsWith('.pdf'));
    if (made.length === 0) missing.push(name);
    files.push(
      ...made.toSorted().map((one) => ({ name: `${name}: ${one.replace('.pdf', '')}`, bytes: readFileSync(join(directory, one)) })),
    );
  }
  return { files, missing };
}
