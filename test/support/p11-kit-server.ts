import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { loadProfile, modulePath } from '../../src/token/host/module-profile.ts';
import type { TokenConfig } from '../../src/config/token-config.ts';
import { until } from './until.ts';

const program = '/usr/libexec/p11-kit/p11-kit-server';
const startMs = 30_000;

/** Why a token cannot be shared over p11-kit here; undefined where it can. */
export const noP11Kit =
  existsSync(program) && loadProfile('p11-kit').modulePaths.some((path) => existsSync(path))
    ? undefined
    : 'p11-kit is not installed (Debian packages p11-kit, p11-kit-modules)';

/** A token that a process of its own offers to several token hosts, as an HSM in the network does. */
export class P11KitServer {
  readonly #server: ChildProcess;
  readonly #socketPath: string;

  private constructor(server: ChildProcess, socketPath: string) {
    this.#server = server;
    this.#socketPath = socketPath;
  }

  /** `token`: how the module is reached otherwise. */
  static async start(token: TokenConfig, socketPath: string): Promise<P11KitServer> {
    const module = modulePath(token, loadProfile(token.profile));
    const server = spawn(program, ['--foreground', '--provider', module, '--name', socketPath, 'pkcs11:'], {
      env: { PATH: process.env['PATH'], ...token.environment },
      stdio: 'ignore',
    });
    await until(
      () => {
        if (!existsSync(socketPath)) throw new Error(`p11-kit-server does not listen (exit code ${server.exitCode})`);
      },
      { timeoutMs: startMs },
    );
    return new P11KitServer(server, socketPath);
  }

  /** Section of the configuration, of an instance that reaches the token through this server. */
  configOf({ modulePath: _module, ...token }: Record<string, unknown>): Record<string, unknown> {
    return { ...token, profile: 'p11-kit', environment: { P11_KIT_SERVER_ADDRESS: `unix:path=${this.#socketPath}` } };
  }

  async stop(): Promise<void> {
    if (this.#server.exitCode === null && this.#server.signalCode === null) {
      this.#server.kill();
      await once(this.#server, 'exit');
    }
    rmSync(this.#socketPath, { force: true });
  }
}
