import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const hasFlag = /--disable-sigusr1|\b(?:processFlags|nodeFlags)\b/;

/** Files that start processes. */
const files = globSync(
  [
    '{src,bench,test,packaging,docs,clients}/**/*.{ts,mts,sh}',
    'systemd/*',
    'packaging/{signetctl,deb/signetctl,deb/scripts/*,container/*}',
  ],
  { cwd: root, exclude: ['**/node_modules/**', 'test/house/node-starts.test.ts'] },
);

/** How Node is started: by its own path, by that of the package, as `node`, or by a fork. */
const starts = [
  /process\.execPath(?! =|;| \})/,
  /runtime\/node(?:`|'|"|\s)[^\n]*(?:\.m?js|argv)/,
  /(?:spawn|spawnSync|execFile|execFileSync|fork)\((?:'node'|"node")/,
  /\bfork\(script/,
  /exec "\$runtime"/,
];
/** What is no start of a process. */
const others = /^\s*(?:\/\/|\*|\/\*)|const \{ execPath \}|\[process\.execPath, `\$\{program\}\/runtime\/node`\]/;

/** Arguments that a start takes from a variable, with the flag among them. */
const variable = /process\.execPath, (?:\[\.\.\.)?(\w+)/;

/** Lines that start Node without the flag, which is in the same statement of at most five lines, or in its variable. */
function startsWithout(text: string): string[] {
  const lines = text.split('\n');
  return lines.filter((line, index) => {
    if (others.test(line) || !starts.some((start) => start.test(line))) return false;
    const [, name] = variable.exec(line) ?? [];
    const made = name === undefined ? -1 : lines.slice(0, index).findLastIndex((before) => before.includes(` ${name} = `));
    const statement = lines.slice(index, index + 5);
    return !hasFlag.test([...(made === -1 ? [] : lines.slice(made, made + 3)), ...statement].join('\n'));
  });
}

test('every start of Node keeps SIGUSR1 from opening the inspector', () => {
  expect(files.length).toBeGreaterThan(1000);
  const found = files.flatMap((file) => startsWithout(readFileSync(`${root}/${file}`, 'utf8')).map((line) => `${file}: ${line.trim()}`));
  expect(found).toEqual([]);
});

test.each([
  "spawn(process.execPath, ['dist/main.js', '--config', file]);",
  'ExecStart=/usr/lib/signetd-running/runtime/node --jitless dist/token-host.js',
  'exec /usr/lib/signetd/runtime/node /usr/lib/signetd/dist/cli.js "$@"',
  "execFileSync('node', ['dist/cli.js']);",
  'fork(script, [configPath], {\n  env: {},\n});',
])('one without it is found: %s', (line) => {
  expect(startsWithout(line)).toHaveLength(1);
});
