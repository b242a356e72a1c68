import { createRequire } from 'node:module';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { fileURLToPath } from 'node:url';

/** The exports of `native/peer-certificates.c`. */
interface Native {
  /** @throws {TypeError} for anything but Node's external value of an SSL_CTX */
  boundPeers(context: unknown): void;
}

/** Built by packaging/bootstrap.sh. */
const file = fileURLToPath(new URL('../../dist/peer-certificates.node', import.meta.url));
let loaded: Native | undefined;

/**
 * Bounds the certificates that the other ends of a SecureContext's connections may present: at most
 * 10, of 32 KiB together, with 500 names, and keys as `keyFault` allows them. Without it, OpenSSL verifies
 * the signatures of a chain of a hundred kilobytes that leads nowhere, by any keys, for half a
 * second on the event loop, and for anybody who can connect.
 * @throws {TypeError} if this version of Node does not give access to the context
 */
export function boundPeers(context: unknown): void {
  // A native module has no types of its own; this interface describes the C source.
  loaded ??= createRequire(import.meta.url)(file) as Native;
  loaded.boundPeers(memberOf(memberOf(context, 'context'), '_external'));
}

function memberOf(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null ? Reflect.get(object, key) : undefined;
}

/** Returns a context for TLS with servers, whose certificates are bounded. */
export function boundedContext(options: SecureContextOptions): SecureContext {
  const context = createSecureContext(options);
  boundPeers(context);
  return context;
}
