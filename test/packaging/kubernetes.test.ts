import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { skipNote } from '../support/skip-note.ts';

const root = 'packaging/kubernetes';
const Container = z.object({
  name: z.string(),
  securityContext: z.object({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  resources: z.object({ requests: z.object({ cpu: z.string(), memory: z.string() }), limits: z.object({ memory: z.string() }) }),
});
const Pod = z.object({
  terminationGracePeriodSeconds: z.number().optional(),
  automountServiceAccountToken: z.literal(false),
  securityContext: z.object({
    runAsNonRoot: z.literal(true),
    runAsUser: z.number(),
    fsGroup: z.number(),
    fsGroupChangePolicy: z.literal('OnRootMismatch'),
    seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
  }),
  containers: z.array(
    Container.extend({
      ports: z.array(z.object({ containerPort: z.number() })),
      readinessProbe: z.object({ exec: z.object({ command: z.array(z.string()) }) }),
      volumeMounts: z.array(z.object({ mountPath: z.string() })),
    }),
  ),
  volumes: z.array(z.object({ secret: z.object({ defaultMode: z.number() }).optional() })),
});

function documents(file: string): unknown[] {
  // As Kubernetes reads it: 0440 is an octal number.
  return parseAllDocuments(readFileSync(join(root, file), 'utf8'), { version: '1.1' }).map((one) => one.toJS() as unknown);
}

function podOf(file: string): z.output<typeof Pod> {
  const [found] = documents(file).flatMap((one) => {
    const set = z.object({ kind: z.literal('StatefulSet'), spec: z.object({ template: z.object({ spec: Pod }) }) }).safeParse(one);
    if (!set.success && z.object({ kind: z.literal('StatefulSet') }).safeParse(one).success) throw set.error;
    return set.success ? [set.data.spec.template.spec] : [];
  });
  if (found === undefined) throw new Error(`no StatefulSet in ${file}`);
  return found;
}

describe('the manifests for Kubernetes', () => {
  it.each(['base/stateful-set.yaml', 'postgresql/postgresql.yaml'])('give a pod no privilege (%s)', (file) => {
    const { volumes } = podOf(file);
    for (const { secret } of volumes) if (secret !== undefined) expect(secret.defaultMode).toBe(0o440);
  });

  it('are those of the image', () => {
    const image = readFileSync('packaging/container/Containerfile', 'utf8');
    const { containers, securityContext, terminationGracePeriodSeconds = 0 } = podOf('base/stateful-set.yaml');
    const [signetd] = containers;
    expect(image).toContain(`USER ${securityContext.runAsUser}:${securityContext.fsGroup}\n`);
    expect(image).toContain(`EXPOSE ${signetd?.ports.map(({ containerPort }) => containerPort).join(' ')}\n`);
    expect(image).toContain(` ${signetd?.readinessProbe.exec.command[0]}\n`);
    expect(image).toContain(
      `HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ${JSON.stringify(signetd?.readinessProbe.exec.command).replaceAll(',', ', ')}`,
    );
    expect(signetd?.volumeMounts.map(({ mountPath }) => mountPath)).toEqual([
      ...['/etc/signetd', '/run/secrets', '/var/lib/signetd', '/var/log/signetd', '/run/signetd', '/tmp'],
    ]);
    const [, drainSeconds] = /`limits\.drainSeconds` \| [^|]* \| `(\d+)`/.exec(readFileSync('docs/configuration.md', 'utf8')) ?? [];
    expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(Number(drainSeconds) + 5);
  });

  it('name only files that are there', () => {
    for (const place of ['.', 'base', 'postgresql', 'hsm-client']) {
      const file = parse(readFileSync(join(root, place, 'kustomization.yaml'), 'utf8')) as Record<string, (string | { path: string })[]>;
      const named = [...(file['resources'] ?? []), ...(file['components'] ?? []), ...(file['patches'] ?? [])];
      for (const one of named) expect(existsSync(join(root, place, typeof one === 'string' ? one : one.path))).toBe(true);
      const others = readdirSync(join(root, place)).filter((name) => name !== 'kustomization.yaml');
      expect(others.toSorted()).toEqual(named.map((one) => (typeof one === 'string' ? one : one.path)).toSorted());
    }
  });
});

const validator = ['var/kubernetes-validate/bin/kubernetes-validate', 'kubernetes-validate'].find(
  (program) => spawnSync(program, ['--version']).status === 0,
);
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;
const missing =
  validator === undefined ? 'kubernetes-validate is not installed (PyPI)' : hasKubectl ? undefined : 'kubectl is not installed';

describe.skipIf(validator === undefined)(`the manifests${skipNote(validator === undefined ? missing : undefined)}`, () => {
  it.each(['base', 'postgresql'])('have the schema of Kubernetes (%s)', (place) => {
    const files = readdirSync(join(root, place)).filter((name) => !['kustomization.yaml', 'egress.yaml'].includes(name));
    execFileSync(validator ?? '', ['--strict', ...files.map((name) => join(root, place, name))], { encoding: 'utf8' });
  });

  it.skipIf(!hasKubectl)(`have it with all components${skipNote(missing)}`, () => {
    const all = execFileSync('kubectl', ['kustomize', root], { encoding: 'utf8' });
    expect(all).toContain('signetd.client: "true"');
    expect(all).toContain('restartPolicy: Always');
    const directory = mkdtempSync(join(tmpdir(), 'signetd-kubernetes-'));
    const validate = (text: string): unknown => {
      const file = join(directory, 'all.yaml');
      writeFileSync(file, text);
      return execFileSync(validator ?? '', ['--strict', file], { encoding: 'utf8', stdio: 'pipe' });
    };
    try {
      validate(all);
      expect(() => validate(all.replace('replicas: 1', 'replica: 1'))).toThrow('Command failed');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
