import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { version as productVersion } from '../src/telemetry/version.ts';
import { billOfMaterials } from './deb/bill-of-materials.ts';
import { controlFile, debianParts, maintainer } from './deb/control.ts';
import { copyrightFile } from './deb/copyright.ts';
import { writeDocumentation } from './deb/documentation.ts';
import { instanceTemplate, instanceUnits, templateName } from './deb/instance-units.ts';
import { productionModules } from './deb/production-modules.ts';
import { writeProgram } from './deb/program-files.ts';

/**
 * Makes `var/packages/signetd_<version>_<architecture>.deb` of this build, without network. The same commit makes the same bytes.
 * `--version` sets the version of the package, `--output` the directory, `--compression-level` that of xz. `--release`, or a
 * tag on the commit, makes a release, which names its maintainer.
 */
const { values } = parseArgs({
  options: {
    release: { type: 'boolean', default: false },
    version: { type: 'string' },
    output: { type: 'string' },
    'compression-level': { type: 'string', default: '6' },
  },
});
const project = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const output = values.output ?? join(project, 'var/packages');
const version = values.version ?? `${productVersion()}-1`;
if (!/^\d[A-Za-z0-9.+~]*-[A-Za-z0-9.+~]+$/.test(version)) throw new Error(`--version ${version}: not of the form 0.1.0-1`);
const isTagged = spawnSync('git', ['-C', project, 'describe', '--exact-match', 'HEAD'], { stdio: 'ignore' }).status === 0;
if ((values.release || isTagged) && !process.env['DEBEMAIL'])
  throw new Error('a release names its maintainer: set DEBEMAIL (and DEBFULLNAME) to the address of those who distribute it');
const architecture = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim();
const epochSeconds = Number(
  process.env['SOURCE_DATE_EPOCH'] ?? execFileSync('git', ['-C', project, 'log', '-1', '--format=%ct'], { encoding: 'utf8' }),
);

const root = mkdtempSync(join(tmpdir(), 'signetd-package-'));
try {
  process.stdout.write(`${await build()}\n`);
} finally {
  rmSync(root, { recursive: true, force: true });
}

/** Returns the path of the package. */
async function build(): Promise<string> {
  const modules = productionModules(project);
  writeProgram(project, root, modules);
  await writeDocumentation({ project, root, version: version.replace(/-[^-]*$/, ''), debianVersion: version, epochSeconds, maintainer });
  const documents = join(root, 'usr/share/doc/signetd');
  writeFileSync(join(documents, 'copyright'), copyrightFile(project, modules));
  writeFileSync(join(documents, 'sbom.cdx.json'), billOfMaterials({ version, architecture, epochSeconds, modules, debianParts }));
  copy('packaging/deb/signetctl', 'usr/bin/signetctl');
  copy('packaging/deb/lintian-overrides', 'usr/share/lintian/overrides/signetd');
  copy('systemd/sysusers.conf', 'usr/lib/sysusers.d/signetd.conf');
  copy('systemd/tmpfiles.conf', 'usr/lib/tmpfiles.d/signetd.conf');
  for (const unit of readdirSync(join(project, 'systemd')).filter((name) => /\.(?:service|socket)$/.test(name)))
    copy(`systemd/${unit}`, `usr/lib/systemd/system/${unit}`);
  for (const unit of instanceUnits)
    writeFileSync(
      join(root, 'usr/lib/systemd/system', templateName(unit)),
      instanceTemplate(readFileSync(join(project, 'systemd', unit), 'utf8')),
    );
  setModes(root);
  writeControl();
  mkdirSync(output, { recursive: true });
  const file = join(output, `signetd_${version}_${architecture}.deb`);
  const compression = ['-Zxz', `-z${values['compression-level']}`, '--threads-max=1'];
  execFileSync('dpkg-deb', ['--root-owner-group', ...compression, '--build', root, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epochSeconds) },
  });
  return file;
}

function copy(from: string, to: string): void {
  mkdirSync(join(root, to, '..'), { recursive: true });
  cpSync(join(project, from), join(root, to));
}

/** Paths of all files, relative to the root. */
function filesBelow(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => !lstatSync(join(directory, path)).isDirectory())
    .toSorted();
}

/** Modes and times of the sources must not show in the package. */
function setModes(directory: string): void {
  const programs = new Set(['usr/bin/signetctl', 'usr/lib/signetd/runtime/node']);
  for (const path of ['.', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })]) {
    const full = join(directory, path);
    chmodSync(full, lstatSync(full).isDirectory() || programs.has(path) ? 0o755 : 0o644);
    lutimesSync(full, epochSeconds, epochSeconds);
  }
}

function writeControl(): void {
  const files = filesBelow(root);
  const control = join(root, 'DEBIAN');
  const bytes = files.reduce((sum, path) => sum + statSync(join(root, path)).size, 0);
  const sums = files.map(
    (path) =>
      `${createHash('md5')
        .update(readFileSync(join(root, path)))
        .digest('hex')}  ${path}\n`,
  );
  mkdirSync(control, { mode: 0o755 });
  chmodSync(control, 0o755);
  writeFileSync(join(control, 'control'), controlFile({ version, architecture, installedKiB: Math.ceil(bytes / 1024) }));
  writeFileSync(join(control, 'md5sums'), sums.join(''));
  for (const script of ['postinst', 'prerm', 'postrm']) cpSync(join(project, 'packaging/deb/scripts', script), join(control, script));
  for (const name of readdirSync(control)) {
    chmodSync(join(control, name), /^(?:postinst|prerm|postrm)$/.test(name) ? 0o755 : 0o644);
    lutimesSync(join(control, name), epochSeconds, epochSeconds);
  }
}
