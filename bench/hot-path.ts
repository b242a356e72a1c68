import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startBareServer } from './bare-server-process.ts';
import { hotPathReport, type Row, type Start } from './hot-path-report.ts';
import { keyTypes, measureCeiling, measureLoad, type Ceiling, type KeyType, type Load, type Target } from './native-tools.ts';
import { configure, startOwnService, stopOwnService, timedStart, type Configuration } from './own-service.ts';
import type { Quickstart } from './quickstart-description.ts';
import { createScratchCertificates } from './scratch-certificates.ts';
import { createScratchToken } from './scratch-token.ts';
import { ServiceClient, type Reference } from './service-client.ts';
import { residentMebibytesByPart, signetdPids } from './signetd-processes.ts';

const connectionCounts = [1, 8, 32];
const rounds = 3;
const loadLength = { seconds: 3, warmup: 0.5 };
const ceilingSeconds = 3;
/** After these, the JavaScript engine has compiled what it compiles. */
const warmUpRequests = 30_000;
/** Longer than the daemon waits until it returns free memory. */
const idleMs = 40_000;
const signOperation = 'signature/sign';
const goodAnswer = '"resultMajor":0';
const tenantOfP521 = 'p384';

/** The client whose tenant makes keys of the type; that of P-384 makes P-521 after a restart. */
const clientOf = { 'RSA-2048': 'app', 'P-256': 'other', 'P-384': 'p384', 'P-521': 'p384' } as const satisfies Record<
  KeyType,
  keyof Quickstart['clients']
>;

const hashes = {
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
} as const;
const hashOf = { 'RSA-2048': 'sha256', 'P-256': 'sha256', 'P-384': 'sha384', 'P-521': 'sha512' } as const satisfies Record<
  KeyType,
  keyof typeof hashes
>;

const small = randomBytes(768).toString('base64');
const large = randomBytes(100 * 1024).toString('base64');
const rawSignature = { rawSignature: {} };
const cades = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } };

/** A kind of request that is measured. */
interface Kind {
  readonly name: string;
  readonly connections: readonly number[];
  readonly parameters: object;
  /** Members of the document. */
  document(type: KeyType): object;
}

const content = { name: 'content', connections: connectionCounts, parameters: rawSignature, document: () => base64(small) };
const digest = { name: 'digest', connections: connectionCounts, parameters: rawSignature, document: digestMember };
const cadesSmall = { name: 'CAdES-B, 1 KB', connections: [8], parameters: cades, document: () => base64(small) };
const cadesLarge = { name: 'CAdES-B, 100 KB', connections: [8], parameters: cades, document: () => base64(large) };

/** What is measured with each type of key. */
const kindsOf: Readonly<Record<KeyType, readonly Kind[]>> = {
  'RSA-2048': [content, digest, cadesSmall, cadesLarge],
  'P-256': [content, digest, cadesSmall],
  'P-384': [content, digest],
  'P-521': [content, digest],
};

function base64(base64Value: string): object {
  return { base64Data: { base64Value } };
}

function digestMember(type: KeyType): object {
  const hash = hashOf[type];
  return { digest: { digestAlgOID: hashes[hash], digestValue: createHash(hash).update(small).digest('base64') } };
}

/**
 * Measures the path of a signature on a service of its own: rates, processor time, memory and
 * starts, beside the token driven by C only, and a bare HTTPS server. Returns lines of text.
 */
export async function hotPathLines(
  directory: string,
  say: (line: string) => void,
  types: readonly KeyType[] = keyTypes,
): Promise<string[]> {
  const home = join(directory, 'hot-path');
  const tokenDirectory = join(directory, 'hot-path-token');
  mkdirSync(tokenDirectory);
  const token = createScratchToken(tokenDirectory);
  const ceilings: Ceiling[] = [];
  for (const type of token === undefined ? [] : types) {
    say(`${type}, C alone`);
    for (const threads of [1, 2])
      if (token !== undefined) ceilings.push(await measureCeiling(token, type, { threads, seconds: ceilingSeconds }));
  }
  const quickstart = startOwnService(home);
  try {
    stopOwnService(home);
    const starts: Start[] = [await started(home)];
    await delay(idleMs);
    const idle = residentMebibytesByPart(home);
    const certificates = createScratchCertificates(directory);
    const bare = await startBareServer(certificates, await answerBytes(quickstart));
    const bareBody = join(directory, 'bare.json');
    writeFileSync(bareBody, JSON.stringify(requestOf(content, 'P-256', { reference: 'x'.repeat(40), password: 'y'.repeat(27) })));
    const bareTarget = { ...certificates, url: bare.url, bodyFile: bareBody, expected: goodAnswer, pids: [bare.pid] };
    const rows: Row[] = [];
    try {
      await warmUp(quickstart, home, say);
      for (const type of types.filter((one) => one !== 'P-521')) rows.push(...(await measureType(quickstart, home, type, bareTarget, say)));
      const loaded = residentMebibytesByPart(home);
      if (types.includes('P-521')) {
        stopOwnService(home);
        configure(home, withP521);
        starts.push(await started(home));
        await warmUp(quickstart, home, say);
        rows.push(...(await measureType(quickstart, home, 'P-521', bareTarget, say)));
      }
      return hotPathReport({ ceilings, rows, idle, loaded, starts });
    } finally {
      await bare.stop();
    }
  } finally {
    stopOwnService(home);
  }
}

/** Starts the service, whose audit log may be long by then. */
async function started(home: string): Promise<Start> {
  const audit = join(home, 'audit');
  const auditBytes = readdirSync(audit).reduce((sum, name) => sum + statSync(join(audit, name)).size, 0);
  return { auditBytes, ms: await timedStart(home) };
}

function withP521(configuration: Configuration): Configuration {
  const { [tenantOfP521]: tenant, ...others } = configuration.tenants;
  if (tenant === undefined) throw new Error(`the configuration has no tenant ${tenantOfP521}`);
  return { ...configuration, tenants: { ...others, [tenantOfP521]: { ...tenant, profile: { ...tenant.profile, keyType: 'P-521' } } } };
}

async function answerBytes(quickstart: Quickstart): Promise<number> {
  const service = new ServiceClient(quickstart, quickstart.clients[clientOf['P-256']]);
  return service.answerBytes(signOperation, requestOf(content, 'P-256', await service.createKey()));
}

function requestOf(kind: Kind, type: KeyType, { reference, password }: Reference): object {
  return { keyReference: { reference, password }, parameters: kind.parameters, inputDocuments: [{ ID: 'd', ...kind.document(type) }] };
}

async function targetOf(quickstart: Quickstart, home: string, kind: Kind, type: KeyType): Promise<Target> {
  const service = new ServiceClient(quickstart, quickstart.clients[clientOf[type]]);
  const bodyFile = join(home, `${type}-${kind.name.replaceAll(/\W+/g, '-')}.json`);
  writeFileSync(bodyFile, JSON.stringify(requestOf(kind, type, await service.createKey())), { mode: 0o600 });
  const { caCertificate } = quickstart;
  return {
    url: service.urlOf(signOperation),
    client: service.client,
    caCertificate,
    bodyFile,
    expected: goodAnswer,
    pids: signetdPids(home),
  };
}

async function warmUp(quickstart: Quickstart, home: string, say: (line: string) => void): Promise<void> {
  say(`${warmUpRequests} requests of warm-up`);
  const target = await targetOf(quickstart, home, content, 'P-256');
  for (let done = 0; done < warmUpRequests;) done += (await measureLoad(target, { connections: 32, seconds: 5, warmup: 0 })).requests;
}

async function measureType(quickstart: Quickstart, home: string, type: KeyType, bare: Target, say: (line: string) => void): Promise<Row[]> {
  const asked: { name: string; connections: number; target: Target; loads: Load[] }[] = [];
  for (const connections of connectionCounts) asked.push({ name: 'bare HTTPS server', connections, target: bare, loads: [] });
  for (const kind of kindsOf[type]) {
    const target = await targetOf(quickstart, home, kind, type);
    for (const connections of kind.connections) asked.push({ name: kind.name, connections, target, loads: [] });
  }
  for (let round = 1; round <= rounds; round += 1) {
    say(`${type}, round ${round} of ${rounds}`);
    // One after the other, since they would compete for the processor.
    for (const { connections, target, loads } of asked) loads.push(await measureLoad(target, { connections, ...loadLength }));
  }
  return asked.map(({ name, connections, loads }) => ({ type, name, connections, loads }));
}
