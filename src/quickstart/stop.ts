import { reasonOf } from '../telemetry/reason-of.ts';
import { stopDaemon } from './daemon.ts';
import { stopGateways } from './gateway-process.ts';
import { layout } from './layout.ts';

/** `npm run quickstart:stop` */
try {
  const hasStopped = await stopDaemon();
  await stopGateways();
  process.stdout.write(
    hasStopped ? 'signetd has stopped; its data is kept.\n' : `signetd is not running; its directory is ${layout.directory}.\n`,
  );
} catch (error) {
  process.stderr.write(`${reasonOf(error)}\n`);
  process.exitCode = 1;
}
