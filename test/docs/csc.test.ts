import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { directory } from '../support/api.ts';
import { skipNote } from '../support/skip-note.ts';
import { firstBlock, shellBlocks } from './shell-blocks.ts';

const python = join(process.env['SIGNETD_TOOLS_CACHE'] ?? join(homedir(), '.cache/signetd-tools'), 'venv/bin/python3');
const reason = existsSync(python) ? undefined : `there is no ${python}`;
const heading = 'Example: pyHanko';

it.skipIf(reason !== undefined)(`the program of docs/csc.md signs a PDF${skipNote(reason)}`, () => {
  const page = readFileSync('docs/csc.md', 'utf8');
  const workplace = mkdtempSync(join(tmpdir(), 'signetd-csc-'));
  try {
    // What the quickstart has, in a place where the example may write.
    const quickstart = join(workplace, 'var', 'quickstart');
    mkdirSync(quickstart, { recursive: true });
    for (const name of ['quickstart.json', 'tls', 'first-signature']) symlinkSync(join(directory, name), join(quickstart, name));
    writeFileSync(join(quickstart, 'csc_sign.py'), firstBlock(page, 'python', heading));
    const blocks = shellBlocks(page, heading);
    const printed = execFileSync('bash', ['-c', ['set -euo pipefail', ...blocks.map(({ commands }) => commands)].join('\n')], {
      cwd: workplace,
      encoding: 'utf8',
      // Another environment of Python may be set here.
      env: {
        ...process.env,
        PYTHONHOME: undefined,
        PYTHONPATH: undefined,
        VIRTUAL_ENV: undefined,
        PATH: `${dirname(python)}:${process.env['PATH']}`,
      },
    });
    expect(printed).toBe(blocks.map(({ output }) => output ?? '').join(''));
    expect(printed).not.toBe('');
  } finally {
    rmSync(workplace, { recursive: true, force: true });
  }
});
