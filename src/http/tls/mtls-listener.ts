import type { X509Certificate } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Audit } from '../../audit/audit.ts';
import type { Caller } from '../../clients/caller.ts';
import type { ClientRegistry } from '../../clients/registry.ts';
import type { Config } from '../../config/config.ts';
import { unadmittedMax, type LimitsConfig } from '../../config/limits-config.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { SignedList } from './client-trust.ts';
import { certificateBehind, ConnectionTrust, spkiBehind } from './connection-trust.ts';
import { ClientConnections } from '../limits/connections/client-connections.ts';
import type { Crowd } from '../limits/connections/places.ts';
import { addressOf, networks } from '../limits/connections/source-address.ts';
import type { MalformedRequests } from '../limits/malformed.ts';
import { withFewAhead } from '../limits/requests-ahead.ts';
import { GuardedServer } from './guarded-server.ts';
import { readTlsMaterial } from './material.ts';
import { Refusals } from './refusals.ts';
import { ReloadableTls } from './reload.ts';

/** The API's listener: the server, its TLS files, and its refusals. */
export interface ApiListener {
  readonly server: Server;
  readonly tls: ReloadableTls;
  readonly refusals: Refusals;
  connections(): Promise<number>;
  /** Connections that no registered client has shown itself on. */
  unadmittedConnections(): number;
}

export interface Witnesses {
  readonly log: Logger;
  readonly audit: Pick<Audit, 'refuseClient'>;
  /** Answers what is not HTTP. */
  readonly malformed: MalformedRequests;
  /** Told of each refusal by its code. */
  readonly refused?: (code: string) => void;
  /**
   * Returns the client that is registered under this public key (SHA-256, hexadecimal), as far as
   * is known now.
   */
  readonly registered: (spki: string) => Caller | undefined;
  /** Returns the limits on connections of a client and of its tenant. Default: `connectionsMax`. */
  readonly admittedMax?: (client: Caller) => { readonly client: number; readonly tenant: number };
  /** Returns the CRLs of the client CAs that were fetched so far. Default: none is fetched. */
  readonly fetched?: () => readonly SignedList[];
  /** Told of the certificate of each connection that is admitted. */
  readonly presented?: (spki: string, certificate: X509Certificate) => void;
}

const maxHeaderBytes = 16 * 1024;
/** How often the time-outs of requests are checked. */
const checkingMs = 500;

/** Why a connection is closed for want of room. */
const crowds: Readonly<Record<Crowd, string>> = {
  all: 'more connections than limits.connectionsMax',
  unadmitted: 'more connections without a registered client than limits.connectionsMaxUnadmitted',
  tenant: 'more connections of clients of one tenant than its connectionsMax',
  client: 'more connections of one client than its connectionsMax',
  address: 'more connections without a registered client than limits.connectionsMaxUnadmittedPerAddress',
};

/**
 * Returns the client behind a request, if it is registered now. Connections outlive registrations.
 */
export async function callerOf(request: IncomingMessage, clients: ClientRegistry): Promise<Caller | undefined> {
  const spki = spkiBehind(request.socket);
  return spki === undefined ? undefined : clients.find(spki);
}

/** As `callerOf`, unless the state store must be looked at. */
export function callerAtOnce(request: IncomingMessage, clients: ClientRegistry): Caller | undefined {
  const spki = spkiBehind(request.socket);
  return spki === undefined ? undefined : clients.findAtOnce(spki);
}

/** Returns what tells the client of a connection from others, whether it is registered or not. */
export function clientOf(request: IncomingMessage): string {
  return spkiBehind(request.socket) ?? '';
}

/**
 * Makes the API listener: it wants a valid client certificate before any HTTP, and at every
 * request. Refusals go to the audit log.
 * @throws {TlsMaterialError} for files that cannot be used
 */
export function createApiListener(
  config: Config['listeners']['api'],
  limits: Config['limits'],
  handler: RequestListener,
  { log, audit, malformed, refused, registered, admittedMax, presented, fetched = () => [] }: Witnesses,
): ApiListener {
  const material = readTlsMaterial(config, fetched());
  const trust = new ConnectionTrust(material.trust);
  const refusals = new Refusals(log, audit, refused);
  const shared = networks(config.sharedAddresses);
  const connections = new ClientConnections({
    connectionsMax: limits.connectionsMax,
    unadmittedMax: unadmittedMax(limits),
    unadmittedMaxPerAddress: limits.connectionsMaxUnadmittedPerAddress,
    admittedMax: ({ spkiSha256 }) => {
      const caller = registered(spkiSha256);
      const { connectionsMax: most } = limits;
      return caller === undefined || admittedMax === undefined ? { client: most, tenant: most } : admittedMax(caller);
    },
    isShared: (address) => shared.has(address),
    closed: (crowd, address) => {
      refusals.refuse(crowds[crowd], address);
    },
  });
  const settle = (socket: Socket): void => {
    connections.settle(socket, registered(spkiBehind(socket) ?? ''));
  };
  /**
   * A connection goes on only while its certificate is valid; then it is closed without an answer.
   */
  const maySpeak = (socket: Socket): boolean => {
    const reason = trust.recheck(socket);
    if (reason === undefined) {
      settle(socket);
      return !socket.destroyed;
    }
    // A connection that was refused may have brought its first request already.
    if (spkiBehind(socket) !== undefined && !socket.destroyed) refusals.refuse(reason, addressOf(socket));
    socket.destroy();
    return false;
  };
  const options = {
    ...material.context,
    requestCert: true,
    // The reason of a refusal is lost if the library refuses: it is read, logged and acted on
    // below.
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: 1000 * limits.handshakeTimeoutSeconds,
    maxHeaderSize: maxHeaderBytes,
  };
  const saysNothing = (socket: Socket): void => {
    refusals.refuse('TLS handshake: ERR_TLS_HANDSHAKE_TIMEOUT', addressOf(socket));
  };
  const server = new GuardedServer(options, { mayEnter: (socket) => connections.enter(socket), maySpeak, saysNothing });

  server.on('secureConnection', (socket) => {
    connections.handshaken(socket);
    const reason = trust.admit(socket);
    if (reason === undefined) {
      settle(socket);
      const certificate = certificateBehind(socket);
      if (certificate !== undefined) presented?.(spkiBehind(socket) ?? '', certificate);
      return;
    }
    refusals.refuse(reason, addressOf(socket));
    socket.destroy();
  });
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    // A connection that sends nothing is no client: health checks of a load balancer do that.
    if (error.code !== 'ECONNRESET') refusals.refuse(`TLS handshake: ${handshakeFault(error)}`, addressOf(socket));
    socket.destroy();
  });

  const listener = withFewAhead(handler);
  server.on('request', listener);
  limitServer(server, limits, listener, malformed);
  return {
    server,
    tls: new ReloadableTls(server, trust, { material, fetched }, log),
    refusals,
    connections: async () => connectionsOf(server),
    unadmittedConnections: () => connections.unadmitted,
  };
}

/** Sets the time-outs and bounds of the listener (docs/limits.md), before it listens. */
function limitServer(server: Server, limits: LimitsConfig, listener: RequestListener, malformed: MalformedRequests): void {
  server.headersTimeout = 1000 * limits.headersTimeoutSeconds;
  server.requestTimeout = 1000 * limits.requestTimeoutSeconds;
  server.keepAliveTimeout = 1000 * limits.keepAliveTimeoutSeconds;
  server.timeout = 1000 * limits.stalledTimeoutSeconds;
  server.maxRequestsPerSocket = 0;
  // Their bytes are limited; beyond a number Node would leave headers out without a word.
  server.maxHeadersCount = 0;
  // Options of the constructor, read when it starts to listen and with each request.
  Object.assign(server, { connectionsCheckingInterval: checkingMs, requireHostHeader: false });
  malformed.watch(server);
  // A client that expects "100 Continue" gets it when its body is wanted, or another answer.
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
}

async function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => {
      if (error === null) resolve(count);
      else reject(error);
    });
  });
}

/** Returns OpenSSL's or Node's name of the fault: a fixed text, whatever the client sent. */
function handshakeFault({ code }: NodeJS.ErrnoException): string {
  return code !== undefined && /^[A-Z][A-Z0-9_]{2,79}$/.test(code) ? code : 'failed';
}
