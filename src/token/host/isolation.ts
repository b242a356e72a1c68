import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../../config/config.ts';

/** Built by packaging/bootstrap.sh from native-config/isolation/isolate-module.c. */
const shim = fileURLToPath(new URL('../../../dist/isolate-module.so', import.meta.url));

/**
 * The path to load instead of the module, so that the module is bound to its own libraries and not to the OpenSSL that Node exports. Called on
 * the main thread before others exist: what it sets in the environment is read by the shim, which does not see that of a worker thread.
 * @throws {ConfigError} where the shim is not built.
 */
export function isolated(modulePath: string): string {
  if (!existsSync(shim)) throw new ConfigError(`token.isolateModule: ${shim} is missing; the build makes it (sh packaging/bootstrap.sh)`);
  process.env['SIGNETD_ISOLATED_MODULE'] = modulePath;
  return shim;
}
