import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import { TLSSocket } from 'node:tls';
import type { Audit } from '../audit/audit.ts';
import type { Caller } from '../clients/caller.ts';
import { spkiSha256, type ClientRegistry } from '../clients/registry.ts';
import type { Config } from '../config/config.ts';
import type { Logger } from '../telemetry/log.ts';

/** Fingerprint of the public key behind each connection, worked out once; the registration is looked up for every request. */
const fingerprints = new WeakMap<TLSSocket, string>();

/** The client behind a request, if it is registered now. Connections outlive registrations. */
export async function callerOf(request: IncomingMessage, clients: ClientRegistry): Promise<Caller | undefined> {
  if (!(request.socket instanceof TLSSocket)) return undefined;
  const spki = fingerprints.get(request.socket);
  return spki === undefined ? undefined : clients.find(spki);
}

/** What tells the client of a connection from others, whether it is registered or not. */
export function clientOf(request: IncomingMessage): string {
  return (request.socket instanceof TLSSocket ? fingerprints.get(request.socket) : undefined) ?? '';
}

/** The API listener: TLS 1.2 and 1.3, and a valid client certificate before any HTTP. Whom it refuses goes to the audit log. */
export function createMtlsServer(config: Config['listeners']['api'], handler: RequestListener, log: Logger, audit: Audit): Server {
  const server = createServer(
    {
      cert: readFileSync(config.certificate),
      key: readFileSync(config.key),
      ca: readFileSync(config.clientCertificateAuthority),
      requestCert: true,
      // The reason of a refusal is lost if the library refuses: it is read, logged and acted on below.
      rejectUnauthorized: false,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
    },
    handler,
  );
  server.on('secureConnection', (socket) => {
    const reason = admit(socket);
    if (reason === undefined) return;
    log.warn('a client is refused', { reason, address: socket.remoteAddress });
    audit.refuseClient(reason, socket.remoteAddress);
    socket.destroy();
  });
  server.on('tlsClientError', (error, socket) => {
    log.debug('a TLS handshake failed', { reason: error.message, address: socket.remoteAddress });
    socket.destroy();
  });
  return server;
}

/** Why a connection is refused; undefined where it is not. */
function admit(socket: TLSSocket): string | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (!(certificate instanceof X509Certificate)) return 'no client certificate';
  // Node types this as an Error; it is the name of the verification error.
  if (!socket.authorized) return String(socket.authorizationError);
  fingerprints.set(socket, spkiSha256(certificate));
  return undefined;
}
