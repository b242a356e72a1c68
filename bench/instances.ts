/** Signatures of one instance and of two, as docs/several-instances.md sets them up. */
import { noSeveralInstances, SeveralInstances } from '../test/support/several-instances.ts';
import { compiled } from './compile.ts';
import { instanceFigures } from './instance-figures.ts';
import type { Load } from './native-tools.ts';

function figures(name: string, { requestsPerSecond, p50Milliseconds, p99Milliseconds, errors, firstError }: Load): string {
  const failures = errors === 0 ? '' : `, ERRORS ${errors}: ${firstError}`;
  return `${name} ${requestsPerSecond.toFixed(0)}/s (p50 ${p50Milliseconds.toFixed(1)} ms, p99 ${p99Milliseconds.toFixed(1)} ms${failures})`;
}

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

if (noSeveralInstances !== undefined) {
  console.error(`Several instances cannot be measured: ${noSeveralInstances}.`);
  process.exit(1);
}
compiled('load');
say('two instances, with a balancer and PostgreSQL');
const instances = await SeveralInstances.start();
try {
  for (const { connections, one, behind, two } of await instanceFigures(instances, say)) {
    const ratio = (two.requestsPerSecond / one.requestsPerSecond).toFixed(2);
    console.log(
      `signatures by password, P-256, ${connections} connections, PostgreSQL: ${figures('one instance', one)}; ` +
        `${figures('behind the balancer', behind)}; ${figures('two', two)}, ${ratio} of one`,
    );
  }
} finally {
  await instances.stop();
}
