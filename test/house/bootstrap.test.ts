import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** The real script, with an npm that writes down what it is asked for and finds the packages installed already. */
function commandsOfNpm(): string[] {
  const clone = mkdtempSync(join(tmpdir(), 'signetd-bootstrap-'));
  try {
    for (const name of ['packaging', 'package.json', 'package-lock.json'])
      cpSync(join(project, name), join(clone, name), { recursive: true });
    const runtime = `node_modules/node-linux-${process.arch}`;
    for (const directory of ['bin', 'var', `${runtime}/bin`, 'node_modules/pkcs11js/build/Release']) {
      mkdirSync(join(clone, directory), { recursive: true });
    }
    writeFileSync(join(clone, runtime, 'bin/node'), '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(clone, 'node_modules/pkcs11js/build/Release/pkcs11.node'), '');
    const npm = join(clone, 'bin/npm');
    writeFileSync(npm, `#!/bin/sh\necho "$*" >>'${clone}/asked'\n`);
    chmodSync(npm, 0o755);
    execFileSync('sh', ['packaging/bootstrap.sh', '--no-build'], {
      cwd: clone,
      env: { ...process.env, PATH: `${join(clone, 'bin')}:${process.env['PATH']}` },
      stdio: 'ignore',
    });
    expect(existsSync(join(clone, 'node_modules/.signetd-stamp'))).toBe(true);
    return readFileSync(join(clone, 'asked'), 'utf8').trim().split('\n');
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
}

test('the installation runs the install script of pkcs11js and of no other package', () => {
  const [install = '', rebuild = '', ...more] = commandsOfNpm();
  expect(install).toMatch(/^ci --ignore-scripts /);
  expect(rebuild).toMatch(/^rebuild --ignore-scripts=false pkcs11js /);
  expect(more).toEqual([]);
});
