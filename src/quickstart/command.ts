import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs a program and returns its output. @throws {Error} with its standard error */
export async function command(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  try {
    const { stdout, stderr } = await execute(program, args, { env: { ...process.env, ...environment }, maxBuffer: 64 * 1024 * 1024 });
    return `${stdout}${stderr}`;
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : String(error);
    throw new Error(`${program} ${args[0] ?? ''} failed: ${said}`, { cause: error });
  }
}
