import { stopDaemon } from './daemon.ts';

/** `npm run quickstart:stop` */
try {
  process.stdout.write((await stopDaemon()) ? 'signetd has stopped; its data is kept.\n' : 'signetd does not run.\n');
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
