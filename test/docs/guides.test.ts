import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { directory } from '../support/api.ts';
import { shellBlocks } from './shell-blocks.ts';

const separator = '---- end of a block ----';

const pages = ['2d-doc', 'activation', 'identity-providers', 'quickstart', 'remote-signing', 'tutorial'].map((name) => `docs/${name}.md`);

it.each(pages)(
  'the commands of %s do what it says',
  (page) => {
    const blocks = shellBlocks(readFileSync(page, 'utf8'));
    expect(blocks.length).toBeGreaterThan(2);
    const workplace = mkdtempSync(join(tmpdir(), 'signetd-guide-'));
    try {
      // The guide is written for a clone with a running quickstart.
      mkdirSync(join(workplace, 'var'));
      symlinkSync(directory, join(workplace, 'var', 'quickstart'));
      symlinkSync(resolve('dist'), join(workplace, 'dist'));
      const script = ['set -euo pipefail', ...blocks.flatMap(({ commands }) => [commands, `echo '${separator}'`])].join('\n');
      const printed = execFileSync('bash', ['-c', script], { cwd: workplace, encoding: 'utf8' });
      expect(printed.split(`${separator}\n`).slice(0, -1)).toEqual(blocks.map(({ output }) => output ?? ''));
    } finally {
      rmSync(workplace, { recursive: true, force: true });
    }
  },
  120_000,
);
