import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keyPem, type SoftwareSigner } from '../../../software-signer.ts';
import { usualSigner } from '../../sign-pdf.ts';

const python = join(process.env['SIGNETD_TOOLS_CACHE'] ?? join(homedir(), '.cache/signetd-tools'), 'venv/bin/python');

/** Why there is no pyHanko on this machine. */
export const withoutPyhanko = existsSync(python) ? undefined : `there is no ${python}`;

/** What pyHanko says of what follows the first signature of a file. */
export interface Judgement {
  readonly accepted: boolean;
  /** Empty where it accepts it. */
  readonly why: string;
  /** Of the fields, by their names. */
  readonly values: Readonly<Record<string, string>>;
}

/** Runs a command on each of these orders. */
function answers(command: readonly string[], orders: readonly unknown[]): readonly unknown[] {
  const { stdout, stderr, status } = spawnSync(python, [fileURLToPath(new URL('pyhanko-search.py', import.meta.url)), ...command], {
    ...{ encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 },
    input: orders.map((order) => `${JSON.stringify(order)}\n`).join(''),
  });
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

/** `paths`: of the files. */
export function judged(paths: readonly string[]): readonly Judgement[] {
  return paths.length === 0 ? [] : (answers(['judge'], paths) as readonly Judgement[]);
}

/** What pyHanko is to make of a file. */
export interface Order {
  readonly pdf: Buffer;
  readonly order: Readonly<Record<string, unknown>>;
}

/** Returns what pyHanko makes of files, or why it does not. */
export function made(
  directory: string,
  command: 'sign' | 'revise',
  orders: readonly Order[],
  { pem, privateKey }: Pick<SoftwareSigner, 'pem' | 'privateKey'> = usualSigner(),
): readonly (Buffer | string)[] {
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  writeFileSync(key, keyPem(privateKey));
  writeFileSync(certificate, pem);
  const files = orders.map(({ pdf, order }, index) => {
    const [input, output] = ['in', 'out'].map((name) => join(directory, `${command}-${name}-${index}.pdf`));
    writeFileSync(input ?? '', pdf);
    return { ...order, in: input, out: output };
  });
  const faults = answers([command, key, certificate], files) as readonly (string | null)[];
  return files.map(({ out }, index) => faults[index] ?? readFileSync(out ?? ''));
}
