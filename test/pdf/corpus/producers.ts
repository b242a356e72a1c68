import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { madePdf, revised, usualObjects, type Shape } from '../made-pdf.ts';

/** A file of the corpus. */
export interface CorpusFile {
  readonly producer: string;
  readonly name: string;
  readonly bytes: Buffer;
  readonly password?: string | undefined;
}

/** Makes the files of one producer in a directory. Returns why there are none, if it is not installed. */
type Producer = (directory: string) => string | undefined;

const processMs = 180_000;

/** Runs a program. Returns false if it is not installed. @throws {Error} if it fails */
function run(program: string, options: readonly string[], input?: string): boolean {
  const { error, status, stderr } = spawnSync(program, options, { encoding: 'utf8', timeout: processMs, input });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return false;
  if (error !== undefined) throw error;
  // pikepdf and its like are libraries; qpdf exits with 3 after a warning.
  if (status === 3) return program === 'qpdf';
  if (status !== 0) throw new Error(`${program} ${options.join(' ')}: exit ${status}\n${stderr}`);
  return true;
}

function inPython(library: string, python: string): Producer {
  const script = fileURLToPath(new URL('python_producers.py', import.meta.url));
  return (directory) => (run(python, [script, library, directory]) ? undefined : `${library} is not installed for ${python}`);
}

function combinations<T extends Readonly<Record<string, readonly unknown[]>>>(choices: T): { [K in keyof T]: T[K][number] }[] {
  let all: Record<string, unknown>[] = [{}];
  for (const [key, values] of Object.entries(choices)) all = all.flatMap((one) => values.map((value) => ({ ...one, [key]: value })));
  return all as { [K in keyof T]: T[K][number] }[];
}

const libreOffice: Producer = (directory) => {
  const paragraphs = Array.from({ length: 80 }, (_, index) => `<h2>Clause ${index}</h2><p>PAY 100 to Zoé, Ωmega, Юрий.</p>`).join('');
  writeFileSync(join(directory, 'contract.html'), `<html lang="en"><head><title>Contract</title></head><body>${paragraphs}</body></html>`);
  const filters = [
    ...[{}, { SelectPdfVersion: 1 }, { SelectPdfVersion: 2 }, { SelectPdfVersion: 3 }, { SelectPdfVersion: 16 }, { SelectPdfVersion: 17 }],
    ...[{ UseTaggedPDF: true }, { PDFUACompliance: true }, { ExportBookmarks: false }, { PageRange: '1' }, { ExportFormFields: true }],
    ...[{ EncryptFile: true, DocumentOpenPassword: 'user', RestrictPermissions: true, PermissionPassword: 'owner', Changes: 4 }],
  ];
  for (const [index, filter] of filters.entries()) {
    const values = Object.entries(filter).map(([key, value]) => [
      key,
      { type: typeof value === 'boolean' ? 'boolean' : typeof value === 'number' ? 'long' : 'string', value: String(value) },
    ]);
    const options = JSON.stringify(Object.fromEntries(values));
    const output = join(directory, `${'EncryptFile' in filter ? 'encrypted-' : ''}${index}`);
    const profile = `-env:UserInstallation=file://${join(directory, 'profile')}`;
    const convert = [profile, '--headless', '--convert-to', `pdf:writer_web_pdf_Export:${options}`, '--outdir', output];
    if (!run('soffice', [...convert, join(directory, 'contract.html')])) return 'soffice is not installed';
  }
  return undefined;
};

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="595" height="842"><rect x="50" y="50" width="200" height="90" fill="#246" fill-opacity=".5"/>
<text x="60" y="200" font-size="24">PAY 100 à Zoé</text></svg>`;

const rsvg: Producer = (directory) => {
  for (const { format, pages } of combinations({ format: ['pdf', 'pdf1.4', 'pdf1.5', 'pdf1.6', 'pdf1.7'], pages: [1, 3] }))
    try {
      const input = join(directory, 'drawing.svg');
      writeFileSync(input, svg);
      const output = join(directory, `${format}-${pages}.pdf`);
      if (!run('rsvg-convert', ['-f', format, '-o', output, ...Array<string>(pages).fill(input)])) return 'rsvg-convert is not installed';
    } catch (error) {
      // Older ones know only one format.
      if (format === 'pdf') throw error;
    }
  return undefined;
};

const ghostscript: Producer = (directory) => {
  const program = '/Helvetica findfont 24 scalefont setfont 1 1 3 { 72 700 moveto (Page: PAY 100) show pop showpage } for\n';
  for (const { level, more } of combinations({
    level: ['1.3', '1.4', '1.5', '1.7', '2.0'],
    more: [
      [],
      ['-dFastWebView'],
      ['-dCompressPages=false'],
      ['-dPDFA=1', '-sColorConversionStrategy=RGB'],
      ['-dPDFA=2', '-sColorConversionStrategy=RGB'],
    ],
  })) {
    const output = join(directory, `${level}${more.join('').replaceAll(/\W/g, '')}.pdf`);
    const options = [
      '-q',
      '-dBATCH',
      '-dNOPAUSE',
      '-sDEVICE=pdfwrite',
      `-dCompatibilityLevel=${level}`,
      ...more,
      `-sOutputFile=${output}`,
      '-',
    ];
    if (!run('gs', options, program)) return 'gs is not installed';
  }
  return undefined;
};

const pdfTex: Producer = (directory) => {
  for (const { minor, level, links } of combinations({ minor: [4, 5, 7], level: [0, 2, 3], links: [false, true] })) {
    const name = `${minor}-${level}-${links ? 'links' : 'plain'}`;
    const source = [
      `\\pdfminorversion=${minor}\\pdfobjcompresslevel=${level}\\documentclass{article}`,
      links ? '\\usepackage{hyperref}' : '',
      '\\begin{document}\\section{Contract}PAY 100\\newpage\\section{Annex}',
      '\\newpage end\\end{document}',
    ].join('\n');
    writeFileSync(join(directory, `${name}.tex`), source);
    const options = ['-interaction=nonstopmode', '-halt-on-error', `-output-directory=${directory}`, join(directory, `${name}.tex`)];
    if (!run('pdflatex', options)) return 'pdflatex is not installed';
  }
  return undefined;
};

const chromium: Producer = (directory) => {
  const styles = ['', '@page { size: A5 landscape }', 'body { columns: 2 }', 'p { transform: rotate(5deg); opacity: .5 }'];
  for (const { index, flag } of combinations({
    index: [0, 1, 2, 3],
    flag: ['--print-to-pdf-no-header', '--generate-pdf-document-outline', '--disable-pdf-tagging'],
  })) {
    const page = join(directory, `${index}.html`);
    const paragraphs = Array.from({ length: 60 }, (_, number) => `<h1>Clause ${number}</h1><p>PAY 100 à Zoé</p>`).join('');
    writeFileSync(
      page,
      `<html lang="fr"><title>Contract</title><style>${styles[index] ?? ''}</style>${paragraphs}<form><input name="a" value="b"></form></html>`,
    );
    const output = join(directory, `${index}${flag}.pdf`);
    const options = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${join(directory, 'profile')}`, flag];
    if (!run('chromium', [...options, `--print-to-pdf=${output}`, `file://${page}`])) return 'chromium is not installed';
  }
  return undefined;
};

const handMade: Producer = (directory) => {
  const shapes: readonly Shape[] = ['TABLE', 'STREAM', 'OBJECT_STREAMS', 'HYBRID'];
  for (const { shape, isCompressed, version, revisions } of combinations({
    ...{ shape: shapes, isCompressed: [false, true], version: ['1.4', '1.7', '2.0'], revisions: [0, 1, 20] },
  })) {
    const options = { shape, isCompressed, version, outside: [1, 2, 3] };
    let bytes = madePdf(usualObjects(), options);
    for (let count = 0; count < revisions; count += 1) bytes = revised(bytes, { 15: `<</Title (Revision ${count})>>` }, options);
    writeFileSync(join(directory, `${shape}-${isCompressed ? 'compressed' : 'plain'}-${version}-${revisions}.pdf`), bytes);
  }
  writeFileSync(join(directory, 'entries-of-19-bytes.pdf'), madePdf(usualObjects(), { entryBytes: 19 }));
  return undefined;
};

/** Rewrites of what the other producers made. `sources`: some of their files. */
function rewrites(sources: readonly CorpusFile[]): Readonly<Record<string, Producer>> {
  const inputs = (directory: string): string[] =>
    sources.map(({ bytes }, index) => {
      const path = join(directory, `source-${index}.source`);
      writeFileSync(path, bytes);
      return path;
    });
  return {
    qpdf: (directory) => {
      const encryptions = [
        '',
        'user owner 40',
        'user owner 128 --use-aes=n',
        'user owner 128 --use-aes=y',
        'user owner 256',
        'user owner 256 --force-R5',
      ];
      for (const [index, input] of inputs(directory).entries())
        for (const { objects, shape, encryption } of combinations({
          ...{
            objects: ['disable', 'preserve', 'generate'],
            shape: [[], ['--linearize'], ['--qdf'], ['--newline-before-endstream', '--min-version=1.6']],
          },
          encryption: index === 0 ? encryptions : ['', encryptions[1 + (index % 5)] ?? ''],
        })) {
          const [user = '', owner = '', bits = '', more] = encryption.split(' ');
          const encrypt = encryption === '' ? [] : ['--encrypt', user, owner, bits, ...(more === undefined ? [] : [more]), '--'];
          const name = `${encryption === '' ? '' : 'encrypted-'}${index}-${objects}-${shape.join('')}-${encryption.replaceAll(/\W/g, '')}.pdf`;
          const options = ['--allow-weak-crypto', `--object-streams=${objects}`, ...shape, ...encrypt];
          if (!run('qpdf', [...options, input, join(directory, name)])) return 'qpdf is not installed';
        }
      return undefined;
    },
    mutool: (directory) => {
      for (const [index, input] of inputs(directory).entries())
        for (const options of [[], ['-g'], ['-gggg'], ['-d'], ['-z'], ['-s'], ['-a'], ['-i', '-f'], ['-gg', '-z']])
          if (!run('mutool', ['clean', ...options, input, join(directory, `${index}${options.join('')}.pdf`)]))
            return 'mutool is not installed';
      return undefined;
    },
  };
}

/**
 * Makes the files of all producers. `python`: interpreter that has ReportLab and pikepdf. `note` is
 * told which producers are missing.
 */
export function producedFiles(root: string, python: string, note: (text: string) => void): readonly CorpusFile[] {
  const filesOf = (name: string, producer: Producer): CorpusFile[] => {
    const directory = join(root, name);
    mkdirSync(directory, { recursive: true });
    const missing = producer(directory);
    if (missing !== undefined) note(`no files of ${name}: ${missing}`);
    return readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.pdf'))
      .toSorted()
      .map((path) => ({
        ...{ producer: name, name: path, bytes: readFileSync(join(directory, path)) },
        password: path.includes('encrypted-') ? 'user' : undefined,
      }));
  };
  const first = {
    ...{ hand: handMade, libreoffice: libreOffice, rsvg, ghostscript, pdftex: pdfTex, chromium },
    reportlab: inPython('reportlab', python),
    pikepdf: inPython('pikepdf', python),
    cairo: inPython('cairo', '/usr/bin/python3'),
  };
  const files = Object.entries(first).flatMap(([name, producer]) => filesOf(name, producer));
  note('no files of pdf-lib: it is no package of this project');
  const producers = [...new Set(files.map(({ producer }) => producer))];
  const sources = producers.flatMap((name) => files.find(({ producer, password }) => producer === name && password === undefined) ?? []);
  return [...files, ...Object.entries(rewrites(sources)).flatMap(([name, producer]) => filesOf(name, producer))];
}
