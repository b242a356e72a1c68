import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tenantId } from '../../../src/clients/caller.ts';
import { Config } from '../../../src/config/config.ts';
import { MalformedRequests } from '../../../src/http/limits/malformed.ts';
import type { SignedList } from '../../../src/http/tls/client-trust.ts';
import { createApiListener, type ApiListener } from '../../../src/http/tls/mtls-listener.ts';
import { ScratchAuthority, type CertificateFiles } from '../../support/scratch-authority.ts';
import { recordingLog } from '../../support/silent-log.ts';

type ApiConfig = Config['listeners']['api'];

const directory = mkdtempSync(join(tmpdir(), 'signetd-tls-'));
process.once('exit', () => {
  rmSync(directory, { recursive: true, force: true });
});

export const authority = new ScratchAuthority(directory, 'clients');
export const serverAuthority = new ScratchAuthority(directory, 'servers');

export function newAuthority(name: string, options: ConstructorParameters<typeof ScratchAuthority>[2] = {}): ScratchAuthority {
  return new ScratchAuthority(directory, name, options);
}

export function serverCertificate(until?: Date): CertificateFiles {
  const validity = until === undefined ? {} : { until };
  return serverAuthority.issue('localhost', { extendedKeyUsage: 'serverAuth', subjectAltName: 'DNS:localhost,IP:127.0.0.1', ...validity });
}

const firstServer = serverCertificate();

export interface ScratchListener extends ApiListener {
  readonly config: ApiConfig;
  readonly port: number;
  readonly log: ReturnType<typeof recordingLog>;
  /** Reasons that reached the audit log, one each refusal. */
  readonly audited: string[];
  /** Requests that reached the handler. */
  readonly served: string[];
  /** Replaces files of the listener that stand in the configuration; nothing is reloaded yet. */
  write(files: { certificate?: CertificateFiles; authorities?: string; list?: string }): void;
  close(): void;
}

/** The API listener with files of its own and a handler that answers 200. `list`: the CRL's PEM; undefined: revocation is not checked. */
export async function scratchListener(
  settings: Partial<Config['limits']> & {
    readonly list?: string | undefined;
    readonly authorities?: string;
    readonly isRegistered?: (spki: string) => boolean;
    /** URLs of CRLs, which something else fetches. */
    readonly urls?: readonly string[];
    readonly fetched?: () => readonly SignedList[];
  } = {},
): Promise<ScratchListener> {
  const { list, authorities, isRegistered = () => true, urls = [], fetched = () => [], ...limits } = settings;
  const own = mkdtempSync(join(directory, 'listener-'));
  const files = { certificate: join(own, 'server.pem'), key: join(own, 'server.key'), clientCertificateAuthority: join(own, 'ca.pem') };
  const listFile = join(own, 'ca.crl');
  const write: ScratchListener['write'] = (changed) => {
    if (changed.certificate !== undefined) {
      copyFileSync(changed.certificate.certificate, files.certificate);
      copyFileSync(changed.certificate.key, files.key);
      chmodSync(files.key, 0o600);
    }
    if (changed.authorities !== undefined) writeFileSync(files.clientCertificateAuthority, changed.authorities);
    if (changed.list !== undefined) writeFileSync(listFile, changed.list);
  };
  write({ certificate: firstServer, ...(list === undefined ? {} : { list }) });
  if (authorities === undefined) copyFileSync(authority.certificate, files.clientCertificateAuthority);
  else write({ authorities });
  const config = Config.shape.listeners.shape.api.parse({
    ...files,
    clientRevocationLists: list === undefined ? [] : [listFile],
    clientRevocationUrls: urls,
  });

  const log = recordingLog();
  const audited: string[] = [];
  const served: string[] = [];
  const malformed = new MalformedRequests();
  const listener = createApiListener(
    config,
    Config.shape.limits.parse(limits),
    (request, response) => {
      malformed.follow(request, response);
      served.push(request.url ?? '');
      response.end('served');
    },
    {
      log,
      malformed,
      fetched,
      audit: { refuseClient: (reason) => audited.push(reason) },
      registered: (spkiSha256) =>
        isRegistered(spkiSha256) ? { spkiSha256, name: 'scratch', tenant: tenantId('demo'), roles: new Set() } : undefined,
    },
  );
  listener.server.listen(0, '127.0.0.1');
  await once(listener.server, 'listening');
  const { port } = listener.server.address() as AddressInfo;
  return {
    ...listener,
    ...{ config, port, log, audited, served, write },
    close: () => {
      listener.refusals.stop();
      listener.server.close();
      listener.server.closeAllConnections();
    },
  };
}

/** What `openssl s_client` says, and what came back for one request over its connection. */
export async function sClient(
  port: number,
  args: readonly string[],
  input = 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
): Promise<string> {
  const child = spawn('openssl', [
    's_client',
    '-connect',
    `127.0.0.1:${port}`,
    '-ign_eof',
    '-CAfile',
    serverAuthority.certificate,
    ...args,
  ]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('latin1').on('data', (text: string) => {
      output += text;
    });
  }
  child.stdin.on('error', () => undefined).write(input);
  await once(child, 'close');
  return output;
}

/** Arguments of s_client for a client's certificate. */
export const as = ({ certificate, key }: CertificateFiles): string[] => ['-cert', certificate, '-key', key];
