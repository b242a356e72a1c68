import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePages } from '../packaging/deb/documentation.ts';
import { buildSite } from '../packaging/site/build-site.ts';
import { version } from '../src/telemetry/version.ts';

/** Writes the documents as in the package to var/site, or to the directory that is its argument, and the site of them to `html` below it. */
const output = process.argv[2] ?? 'var/site';
rmSync(output, { recursive: true, force: true });
writePages('.', output);
cpSync('LICENSE', join(output, 'copyright'));
await buildSite(output, join(output, 'html'), version());
process.stdout.write(`${join(output, 'html/index.html')}\n`);
