import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { createScratchToken, type ScratchToken } from './scratch-token.ts';

const Figures = z.object({ cpuSeconds: z.number(), seconds: z.number(), peakMebibytes: z.number() });
type Figures = z.output<typeof Figures>;

const label = 'pyhanko';

/** pyHanko with a P-256 key of its own on a SoftHSM token. */
export class PyHanko {
  readonly #python: string;
  readonly #token: ScratchToken;
  readonly #certificate: string;

  private constructor(python: string, token: ScratchToken, certificate: string) {
    this.#python = python;
    this.#token = token;
    this.#certificate = certificate;
  }

  /** Makes its token in a directory. Returns why there is none where something is not installed. */
  static in(directory: string): PyHanko | { readonly missing: string } {
    const python = pythons().find((one) => canImport(one));
    if (python === undefined) return { missing: 'no Python has pyHanko and python-pkcs11; SIGNETD_PYHANKO can name one' };
    const token = createScratchToken(directory);
    if (token === undefined) return { missing: 'SoftHSM (package softhsm2) is not installed' };
    const [key, certificate] = [join(directory, 'pyhanko-key.pem'), join(directory, 'pyhanko.pem')];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    execFileSync('openssl', ['req', '-x509', ...curve, '-subj', '/CN=bench', '-days', '2', '-keyout', key, '-out', certificate], {
      stdio: 'ignore',
    });
    const place = ['--import', key, '--token', token.label, '--label', label, '--id', '01', '--pin', '1234'];
    execFileSync('softhsm2-util', place, { env: { ...process.env, ...token.environment }, stdio: 'ignore' });
    return new PyHanko(python, token, certificate);
  }

  /** Signs a PDF some times, in a process of its own. */
  async signed(pdf: string, rounds: number): Promise<Figures> {
    const { module, label: token, pinFile, environment } = this.#token;
    const args = [
      fileURLToPath(new URL('pyhanko-sign.py', import.meta.url)),
      module,
      token,
      pinFile,
      label,
      this.#certificate,
      pdf,
      String(rounds),
    ];
    const { stdout } = await promisify(execFile)(this.#python, args, { env: { ...process.env, ...environment } });
    return Figures.parse(JSON.parse(stdout));
  }
}

function pythons(): readonly string[] {
  const cache = process.env['SIGNETD_TOOLS_CACHE'] ?? join(homedir(), '.cache', 'signetd-tools');
  const named = process.env['SIGNETD_PYHANKO'];
  return [...(named === undefined ? [] : [named]), join(cache, 'venv', 'bin', 'python'), 'python3'];
}

function canImport(python: string): boolean {
  if (python.includes('/') && !existsSync(python)) return false;
  try {
    execFileSync(python, ['-c', 'import pkcs11, pyhanko.sign.pkcs11'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
