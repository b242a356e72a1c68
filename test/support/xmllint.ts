import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const schemas = fileURLToPath(new URL('../../src/twoddoc/schemas/', import.meta.url));

/** Has xmllint validate sources of 2D-Doc of one type, and returns for each whether it is valid. */
export function judgedByXmllint(type: string, sources: readonly string[]): boolean[] {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-xmllint-'));
  try {
    const names = sources.map((source, index) => {
      const name = `${index}.xml`;
      writeFileSync(join(directory, name), source);
      return name;
    });
    const schema = join(schemas, `2ddoc-01-${type}.xsd`);
    const { stderr } = spawnSync('xmllint', ['--noout', '--nonet', '--schema', schema, ...names], {
      cwd: directory,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const lines = new Set(stderr.split('\n'));
    return names.map((name) => {
      const isValid = lines.has(`${name} validates`);
      if (isValid === lines.has(`${name} fails to validate`)) throw new Error(`xmllint gave no verdict: ${stderr.slice(0, 1000)}`);
      return isValid;
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}
