import { signetctl } from './cli/program.ts';

/** signetctl: the operator's commands. */
process.umask(0o077);
// A reader that has seen enough, such as head, is no fault.
process.stdout.on('error', () => process.exit());
process.exitCode = await signetctl(process.argv.slice(2));
