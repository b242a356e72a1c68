import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skipNote } from '../support/skip-note.ts';
import { shellBlocks } from './shell-blocks.ts';

/** Commands of the pages that take packages from the registries of npm and Python. */
const workplace = mkdtempSync(join(tmpdir(), 'signetd-registries-'));
const python = ['python3.13', 'python3.12', 'python3.11'].find((name) => spawnSync(name, ['-c', 'import venv, ensurepip']).status === 0);
const reason = python === undefined ? 'Python 3.11 or later with venv is not installed' : noRegistry();
const environment = { ...process.env, PATH: `${workplace}/venv/bin:${process.env['PATH']}`, PIP_DISABLE_PIP_VERSION_CHECK: '1' };

function noRegistry(): string | undefined {
  const asked = [
    spawnSync('npm', ['view', 'openapi-typescript', 'version']),
    spawnSync('python3', ['-m', 'pip', 'download', '--no-deps', '--dest', workplace, 'setuptools']),
  ];
  return asked.some(({ status }) => status !== 0) ? 'the registries of npm and Python cannot be reached' : undefined;
}

function follow(page: string, directory: string, heading?: string): void {
  const blocks = shellBlocks(readFileSync(page, 'utf8'), heading);
  expect(blocks).not.toEqual([]);
  const script = blocks.map(({ commands }) => commands).join('\n');
  execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: directory, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
}

beforeAll(() => {
  if (python === undefined || reason !== undefined) return;
  execFileSync(python, ['-m', 'venv', join(workplace, 'venv')]);
  cpSync('docs/openapi.json', join(workplace, 'openapi.json'));
  for (const name of ['typescript', 'python'])
    cpSync(join('clients', name), join(workplace, 'clients', name), {
      recursive: true,
      filter: (path) => !/\/(?:node_modules|dist)$/.test(path),
    });
});
afterAll(() => {
  rmSync(workplace, { recursive: true, force: true });
});

describe.skipIf(reason !== undefined)(`with the registries${skipNote(reason)}`, () => {
  it('clients/python/README.md: the client is installed', () => {
    follow('clients/python/README.md', join(workplace, 'clients/python'));
    const program = 'import signetd_client; print(signetd_client.SignetdClient.__name__)';
    expect(execFileSync(join(workplace, 'clients/python/.venv/bin/python3'), ['-c', program], { cwd: workplace, encoding: 'utf8' })).toBe(
      'SignetdClient\n',
    );
  });

  it('clients/typescript/README.md: the client is built', () => {
    follow('clients/typescript/README.md', join(workplace, 'clients/typescript'));
    expect(existsSync(join(workplace, 'clients/typescript/dist/index.d.ts'))).toBe(true);
  });

  it('docs/api.md: the generators make clients of the OpenAPI document, with its names', () => {
    const [wanted = ''] = /^datamodel-code-generator==.*$/m.exec(readFileSync('clients/python/requirements-dev.txt', 'utf8')) ?? [];
    execFileSync(join(workplace, 'venv/bin/pip'), ['install', '--quiet', wanted, 'openapi-python-client'], { env: environment });
    follow('docs/api.md', workplace, 'Clients from the OpenAPI document');
    expect(readFileSync(join(workplace, 'signetd.d.ts'), 'utf8')).toContain('SignRequest');
    expect(readFileSync(join(workplace, 'signetd.py'), 'utf8')).toContain('class SignRequest');
    expect(existsSync(join(workplace, 'signetd-client'))).toBe(true);
  });
});
