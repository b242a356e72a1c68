import { execFile, execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../src/quickstart/ports.ts';
import { until } from './until.ts';

const run = promisify(execFile);
/** As in kubernetes-api.sh. */
const version = '1.37.2';
const cache = process.env['SIGNETD_TOOLS_CACHE'] ?? join(homedir(), '.cache', 'signetd-tools');
const programs = join(cache, `kubernetes-${version}`);
const startMs = 60_000;

/** Why no API server of Kubernetes can be started here; undefined where it can. */
export const noKubernetesApi = !existsSync(join(programs, 'kube-apiserver'))
  ? 'there is no API server of Kubernetes; with Go 1.26 or later, .ci/run builds it, or test/support/kubernetes-api.sh'
  : spawnSync('kubectl', ['version', '--client']).status === 0
    ? undefined
    : 'kubectl is not installed';

/** What a command printed, and its exit code. */
export interface Outcome {
  readonly status: number | null;
  readonly output: string;
}

/** The API server of a cluster without machines: it stores and judges objects, and nothing runs them. */
export class KubernetesApi {
  readonly directory: string;
  readonly #children: readonly ChildProcess[];

  private constructor(directory: string, children: readonly ChildProcess[]) {
    this.directory = directory;
    this.#children = children;
  }

  static async start(): Promise<KubernetesApi> {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-kubernetes-'));
    const at = (name: string): string => join(directory, name);
    const [port, token] = [await freePort(26_443), randomBytes(16).toString('hex')];
    execFileSync('openssl', ['genrsa', '-out', at('accounts.key'), '2048'], { stdio: 'ignore' });
    writeFileSync(at('tokens.csv'), `${token},admin,admin,"system:masters"\n`, { mode: 0o600 });
    writeFileSync(at('kubeconfig'), JSON.stringify(kubeconfig(port, at('certificates/apiserver.crt'), token)), { mode: 0o600 });
    const etcd = ['--data-dir', at('etcd'), '--unsafe-no-fsync', '--log-level', 'error'];
    const [store, peers] = [`unix://${at('etcd.sock')}`, `unix://${at('peers.sock')}`];
    const children = [
      started('etcd', [
        ...etcd,
        ...['--listen-client-urls', store, '--advertise-client-urls', store, '--listen-peer-urls', peers],
        ...['--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`],
      ]),
      started('kube-apiserver', [
        ...['--etcd-servers', store, '--bind-address', '127.0.0.1', '--secure-port', String(port), '--cert-dir', at('certificates')],
        // Nothing is reached by these addresses.
        ...['--advertise-address', '192.0.2.1', '--endpoint-reconciler-type', 'none', '--service-cluster-ip-range', '198.51.100.0/24'],
        ...['--service-account-issuer', 'https://kubernetes.example', '--service-account-key-file', at('accounts.key')],
        ...[
          '--service-account-signing-key-file',
          at('accounts.key'),
          '--token-auth-file',
          at('tokens.csv'),
          '--authorization-mode',
          'RBAC',
        ],
      ]),
    ];
    const api = new KubernetesApi(directory, children);
    try {
      await until(
        async () => {
          const { output } = await api.kubectl('get', '--raw', '/readyz');
          if (output !== 'ok') throw new Error(`the API server does not start: ${output}`);
        },
        { timeoutMs: startMs },
      );
    } catch (error) {
      await api.stop();
      throw error;
    }
    return api;
  }

  /** Environment in which kubectl talks to this server. */
  get environment(): NodeJS.ProcessEnv {
    return { ...process.env, KUBECONFIG: join(this.directory, 'kubeconfig') };
  }

  async kubectl(...words: readonly string[]): Promise<Outcome> {
    try {
      const { stdout, stderr } = await run('kubectl', words, { env: this.environment });
      return { status: 0, output: `${stdout}${stderr}` };
    } catch (error) {
      if (!(error instanceof Error) || !('stderr' in error)) throw error;
      return { status: 1, output: String(error.stderr) };
    }
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function started(program: string, words: readonly string[]): ChildProcess {
  return spawn(join(programs, program), words, { stdio: 'ignore' });
}

function kubeconfig(port: number, authority: string, token: string): object {
  return {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
    clusters: [{ name: 'test', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': authority } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  };
}
