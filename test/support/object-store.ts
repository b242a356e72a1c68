import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { vi } from 'vitest';
import { ScratchAuthority } from './scratch-authority.ts';

const cache = process.env['SIGNETD_TOOLS_CACHE'] ?? join(homedir(), '.cache', 'signetd-tools');
const program = join(cache, 'bin', 'versitygw');
const startMs = 30_000;

/** Why no object store can be started here; undefined where it can. */
export const noObjectStore = existsSync(program)
  ? undefined
  : 'there is no S3 server; with Go 1.21 or later, .ci/run installs versitygw, or test/support/object-store.sh';

const bucket = 'signetd-test';
const prefix = 'files/';
const accessKeyId = 'signetd-test-key';
const secretAccessKey = 'a-secret-of-the-object-store';

/** An S3 server with one bucket, over TLS, which keeps objects in files: the test sees what it really has. */
export class ObjectStore {
  /** Values that no log may contain. */
  static readonly secrets = [secretAccessKey];
  readonly root: string;
  readonly #port: number;
  readonly #tls: { readonly certificate: string; readonly key: string };
  readonly #authority: string;
  #server: ChildProcess | undefined;

  private constructor(root: string, port: number) {
    this.root = root;
    this.#port = port;
    mkdirSync(join(root, 'objects', bucket), { recursive: true });
    const authority = new ScratchAuthority(root, 'Object Store CA');
    this.#authority = authority.certificate;
    this.#tls = authority.issue('localhost', { extendedKeyUsage: 'serverAuth', subjectAltName: 'IP:127.0.0.1,DNS:localhost' });
    writeFileSync(join(root, 'id'), `${accessKeyId}\n`, { mode: 0o600 });
    this.useSecret();
  }

  static async start(): Promise<ObjectStore> {
    const store = new ObjectStore(mkdtempSync(join(tmpdir(), 'signetd-object-store-')), await freePort());
    await store.restart();
    return store;
  }

  /** The directory that has the objects of the transfer store. */
  get directory(): string {
    return join(this.root, 'objects', bucket, prefix);
  }

  /** Member `s3` of the configuration. */
  get config(): Record<string, unknown> {
    return {
      endpoint: `https://127.0.0.1:${this.#port}`,
      bucket,
      prefix,
      accessKeyId: `file:${join(this.root, 'id')}`,
      secretAccessKey: `file:${join(this.root, 'secret')}`,
      certificateAuthority: this.#authority,
    };
  }

  /** Writes another secret for the service. Default: the right one. */
  useSecret(secret = secretAccessKey): void {
    writeFileSync(join(this.root, 'secret'), `${secret}\n`, { mode: 0o600 });
  }

  async restart(): Promise<void> {
    const { certificate, key } = this.#tls;
    const args = ['--port', `127.0.0.1:${this.#port}`, '--cert', certificate, '--key', key, '--keep-alive', '--quiet'];
    const env = { ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey };
    this.#server = spawn(program, [...args, 'posix', join(this.root, 'objects')], { env, stdio: 'ignore' });
    await vi.waitFor(async () => this.#answers(), { timeout: startMs });
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined || server.exitCode !== null) return;
    server.kill(signal);
    await once(server, 'exit');
  }

  /** It accepts connections and answers nothing, until `SIGCONT`. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#server?.kill(signal);
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.root, { recursive: true, force: true });
  }

  async #answers(): Promise<void> {
    const socket = connect({ host: '127.0.0.1', port: this.#port, ca: readFileSync(this.#authority) });
    try {
      await once(socket, 'secureConnect');
    } finally {
      socket.destroy();
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a port of TCP');
  return address.port;
}
