import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TokenConfig } from '../../config/token-config.ts';
import { moduleFile, runsFromSources } from '../../config/module-file.ts';
import { processFlags } from '../../service/node-flags.ts';
import { exitCodes, refusalExitCodes } from '../host/exit-codes.ts';
import { refusedPinEnvironment } from '../host/place-of-refused-pin.ts';
import { ownerEnvironment, type TokenOwner } from '../host/token-owner.ts';
import { HostRefusedError, PinRefusedError } from '../token.ts';
import { HostOutput, type HostLine } from './host-output.ts';

const stopMs = 2000;

/** Events of the host that the daemon started. */
export interface HostProcessEvents {
  exited(reason: string, cause: 'recycled' | 'failed' | HostRefusedError): void;
  /** A line that the host wrote to its standard error. */
  said(line: HostLine): void;
}

export type HostSettings = TokenConfig & {
  /** Whether the host is started only for an operator's command. */
  readonly servesOperator: boolean;
  /** The user that a host for an operator becomes. Undefined: that of this process. */
  readonly tokenOwner?: TokenOwner | undefined;
  /** The account directory of the service's host, for a host of an operator. */
  readonly serviceAccount?: string | undefined;
};

/**
 * The token host as a child of the daemon. It ends when the daemon ends, for whatever reason,
 * because its standard input closes.
 */
export class HostProcess {
  #child: ChildProcess | undefined;

  start(config: HostSettings, configPath: string, events: HostProcessEvents): void {
    const script = fileURLToPath(moduleFile('../../token-host', import.meta.url));
    // Without JIT, no memory is both writable and executable. Node needs JIT to load TypeScript.
    const flags = [...processFlags, ...(runsFromSources ? [] : ['--jitless'])];
    const purpose = config.servesOperator ? ['--for-operator'] : [];
    const child = spawn(process.execPath, [...flags, '--no-warnings', script, '--with-parent', ...purpose, '--config', configPath], {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        ...(config.servesOperator ? credentials() : {}),
        ...config.environment,
        ...ownerEnvironment(config.tokenOwner),
        ...refusedPinEnvironment(config.serviceAccount),
      },
    });
    this.#child = child;
    child.stdin.on('error', () => undefined);
    let lastMessage = 'the token host cannot start';
    const output = new HostOutput((line) => {
      if (line.isOwn) lastMessage = line.message;
      events.said(line);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output.add(chunk);
    });
    child.stderr.once('end', () => {
      output.end();
    });
    child.once('error', (error) => {
      events.exited(error.message, 'failed');
    });
    child.once('close', (code, signal) => {
      if (this.#child === child) this.#child = undefined;
      const ended = `the token host ended (${signal ?? `exit code ${code}`})`;
      events.exited(ended, code === 0 ? 'recycled' : (refusalOf(code, lastMessage) ?? 'failed'));
    });
  }

  get running(): boolean {
    return this.#child !== undefined;
  }

  /** Process id, for fault tests and for the log. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** Closes the host's standard input so that it ends by itself; kills it if it hangs. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
      }, stopMs);
      child.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      child.stdin?.end();
    });
  }
}

/** An operator may pass the PIN to the command as a credential, with systemd-run. */
function credentials(): NodeJS.ProcessEnv {
  const directory = process.env['CREDENTIALS_DIRECTORY'];
  return directory === undefined ? {} : { CREDENTIALS_DIRECTORY: directory };
}

function refusalOf(code: number | null, message: string): HostRefusedError | undefined {
  if (code === null || !refusalExitCodes.includes(code)) return undefined;
  return code === exitCodes.pinRefused ? new PinRefusedError(code) : new HostRefusedError(message, code);
}
