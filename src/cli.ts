import { signetctl } from './cli/program.ts';

/** signetctl: the operator's commands. */
process.umask(0o077);
// A reader that stops early, such as head, is not an error.
process.stdout.on('error', () => process.exit());
process.exitCode = await signetctl(process.argv.slice(2));
