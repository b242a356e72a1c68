import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import { TLSSocket, type SecureContextOptions } from 'node:tls';
import type { Audit } from '../audit/audit.ts';
import type { Caller } from '../clients/caller.ts';
import { spkiSha256, type ClientRegistry } from '../clients/registry.ts';
import type { Config } from '../config/config.ts';
import type { Logger } from '../telemetry/log.ts';
import { problemBody } from './problem.ts';

/** Fingerprint of the public key behind each connection, worked out once; the registration is looked up for every request. */
const fingerprints = new WeakMap<TLSSocket, string>();

/** The client behind a request, if it is registered now. Connections outlive registrations. */
export async function callerOf(request: IncomingMessage, clients: ClientRegistry): Promise<Caller | undefined> {
  if (!(request.socket instanceof TLSSocket)) return undefined;
  const spki = fingerprints.get(request.socket);
  return spki === undefined ? undefined : clients.find(spki);
}

/** What a reload replaces. @throws {Error} where a file cannot be read */
export function tlsMaterial({ certificate, key, clientCertificateAuthority }: Config['listeners']['api']): SecureContextOptions {
  return { cert: readFileSync(certificate), key: readFileSync(key), ca: readFileSync(clientCertificateAuthority), minVersion: 'TLSv1.2' };
}

/** The API listener: TLS 1.2 and 1.3, and a valid client certificate before any HTTP. Whom it refuses goes to the audit log. */
export function createMtlsServer(config: Config['listeners']['api'], handler: RequestListener, log: Logger, audit: Audit): Server {
  const server = createServer(
    {
      ...tlsMaterial(config),
      requestCert: true,
      // The reason of a refusal is lost if the library refuses: it is read, logged and acted on below.
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      keepAliveTimeout: 60_000,
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
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
    const body = problemBody({ status, message: 'this is no HTTP/1.1 request', members: {} });
    const phrase = status === 431 ? 'Request Header Fields Too Large' : status === 408 ? 'Request Timeout' : 'Bad Request';
    socket.end(
      `HTTP/1.1 ${status} ${phrase}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-API-Version: 1.0.0\r\nConnection: close\r\n\r\n${body}`,
    );
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
