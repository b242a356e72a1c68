import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { shellBlocks } from '../docs/shell-blocks.ts';
import { KubernetesApi, noKubernetesApi, type Outcome } from '../support/kubernetes-api.ts';
import { skipNote } from '../support/skip-note.ts';

const root = 'packaging/kubernetes';
const [create = '', apply = ''] = shellBlocks(readFileSync('docs/containers.md', 'utf8'), 'Kubernetes').map(({ commands }) => commands);

const Workload = z.object({
  kind: z.literal('StatefulSet'),
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    template: z.object({ metadata: z.looseObject({}), spec: z.looseObject({ volumes: z.array(z.unknown()) }) }),
    volumeClaimTemplates: z.array(z.object({ metadata: z.object({ name: z.string() }) })),
  }),
});
type Workload = z.output<typeof Workload>;

/** The pod that the controller of a StatefulSet makes of it, in the form of the API. */
function podOf({ metadata: { name }, spec: { template, volumeClaimTemplates } }: Workload): object {
  const claims = volumeClaimTemplates.map((claim) => ({
    name: claim.metadata.name,
    persistentVolumeClaim: { claimName: `${claim.metadata.name}-${name}-0` },
  }));
  const { spec } = template;
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name: `${name}-0`, namespace: 'signetd' } },
    spec: { ...spec, volumes: [...spec.volumes, ...claims] },
  };
}

describe.skipIf(noKubernetesApi !== undefined)(`the manifests on an API server of Kubernetes${skipNote(noKubernetesApi)}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-manifests-'));
  let api: KubernetesApi;

  /** Runs commands of docs/containers.md in a directory with what setup makes. */
  function follow(commands: string): string {
    const here = commands.replaceAll('packaging/kubernetes', resolve(root));
    return execFileSync('sh', ['-e', '-c', here], { cwd: directory, encoding: 'utf8', env: api.environment, stdio: 'pipe' });
  }

  async function tried(object: object): Promise<Outcome> {
    const file = join(directory, 'object.json');
    writeFileSync(file, JSON.stringify(object));
    return api.kubectl('create', '--dry-run=server', '--validate=strict', '--filename', file);
  }

  beforeAll(async () => {
    if (noKubernetesApi !== undefined) return;
    for (const [path, text] of Object.entries({ 'etc/signetd.yaml': 'state: {}\n', 'secrets/pin': '1234\n' })) {
      mkdirSync(join(directory, path, '..'), { recursive: true });
      writeFileSync(join(directory, path), text);
    }
    api = await KubernetesApi.start();
  }, 120_000);

  afterAll(async () => {
    if (noKubernetesApi === undefined) await api.stop();
    rmSync(directory, { recursive: true });
  });

  it('are taken with the commands of the page, and again without a change', async () => {
    follow(create);
    expect(follow(apply)).toContain('statefulset.apps/signetd created');
    expect(follow(apply)).toContain('service/signetd unchanged');
    // The set is sent again, since the server completes its claims; it has the first generation still.
    const { output: generation } = await api.kubectl(
      '-n',
      'signetd',
      'get',
      'statefulset/signetd',
      '--output',
      'jsonpath={.metadata.generation}',
    );
    expect(generation).toBe('1');
    const { output } = await api.kubectl('-n', 'signetd', 'get', 'configmap/signetd-config', 'secret/signetd-secrets', '--output', 'json');
    expect(output).toContain('"signetd.yaml"');
    expect(output).toContain(Buffer.from('1234\n').toString('base64'));
  });

  it('break no rule and have no unknown member', async () => {
    const judge = ['apply', '--dry-run=server', '--validate=strict'];
    const { status, output } = await api.kubectl(...judge, '--kustomize', root);
    expect(output).not.toMatch(/warning/i);
    expect(status).toBe(0);
    const wrong = join(directory, 'wrong.yaml');
    writeFileSync(wrong, execFileSync('kubectl', ['kustomize', root], { encoding: 'utf8' }).replace('replicas: 1', 'replica: 1'));
    expect(await api.kubectl(...judge, '--filename', wrong)).toMatchObject({ status: 1 });
  });

  it('make pods that a restricted namespace admits, and that with more privileges it does not', async () => {
    const text = execFileSync('kubectl', ['kustomize', root], { encoding: 'utf8' });
    const sets = parseAllDocuments(text, { version: '1.1' }).flatMap((one) => {
      const read = Workload.safeParse(one.toJS());
      return read.success ? [read.data] : [];
    });
    // A controller of the cluster makes it otherwise.
    await api.kubectl('-n', 'signetd', 'create', 'serviceaccount', 'default');
    expect(sets.map(({ metadata }) => metadata.name)).toEqual(['signetd', 'signetd-postgresql']);
    for (const set of sets) {
      const pod = podOf(set);
      expect((await tried(pod)).output).toContain('created (server dry run)');
      const { spec } = z.looseObject({ spec: z.looseObject({ securityContext: z.looseObject({}) }) }).parse(pod);
      for (const more of [{ hostNetwork: true }, { securityContext: { ...spec.securityContext, runAsNonRoot: false } }]) {
        const { status, output } = await tried({ ...pod, spec: { ...spec, ...more } });
        expect(output).toContain('violates PodSecurity "restricted:latest"');
        expect(status).toBe(1);
      }
    }
  });
});
