import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ScratchCertificates } from './scratch-certificates.ts';

export interface BareServer {
  readonly url: URL;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts `bare-server.ts` in a separate process. */
export async function startBareServer({ server, caCertificate }: ScratchCertificates, answerBytes: number): Promise<BareServer> {
  const script = fileURLToPath(new URL('./bare-server.ts', import.meta.url));
  const options = ['--cert', server.certificate, '--key', server.key, '--ca', caCertificate, '--answer-bytes', String(answerBytes)];
  const child = spawn(process.execPath, ['--disable-sigusr1', '--no-warnings', script, ...options], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const port = await firstLine(child.stdout);
  if (child.pid === undefined || port === undefined) throw new Error('the bare server did not start');
  return {
    url: new URL(`https://127.0.0.1:${port}/`),
    pid: child.pid,
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

async function firstLine(input: NodeJS.ReadableStream): Promise<string | undefined> {
  for await (const line of createInterface({ input })) return line;
  return undefined;
}
