import { execFile } from 'node:child_process';

export interface CommandRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built signetctl as an operator does. */
export async function signetctl(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<CommandRun> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--disable-sigusr1', 'dist/cli.js', ...args],
      { env: { ...process.env, ...environment } },
      (_error, stdout, stderr) => {
        resolve({ status: child.exitCode, stdout, stderr });
      },
    );
  });
}

/** The JSON that a command printed with --json. */
export function jsonOf({ stdout }: CommandRun): unknown {
  return JSON.parse(stdout);
}
