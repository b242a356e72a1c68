/**
 * Compares the running quickstart with its limits: the token driven by C only, and a bare HTTPS
 * server. See `report.ts`.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditCostLine, measureAuditCost } from './audit-cost.ts';
import { startBareServer } from './bare-server-process.ts';
import { reportCades } from './cades-file.ts';
import { compiled } from './compile.ts';
import { measureCrl } from './crl.ts';
import { jsonCostLines } from './json-cost.ts';
import { keyTypes, measureCeiling, measureLoad, type KeyType, type Load, type Target } from './native-tools.ts';
import { levelLines } from './levels.ts';
import { reportKeys } from './key-figures.ts';
import { padesLines } from './pades.ts';
import { readQuickstart, type Quickstart } from './quickstart-description.ts';
import { report, type Measured } from './report.ts';
import { createScratchCertificates } from './scratch-certificates.ts';
import { createScratchToken, type ScratchToken } from './scratch-token.ts';
import { ServiceClient, type Reference } from './service-client.ts';
import { reportTokenLayer } from './token-layer-report.ts';
import { signetdPids } from './signetd-processes.ts';
import { stateCommitLines } from './state-commits.ts';
import { transferLines } from './transfer.ts';
import { twoDDocLines } from './two-d-doc.ts';
import { twoStepLines } from './two-steps.ts';
import { xadesLines } from './xades.ts';

const ceilingLength = { threads: 2, seconds: 4 };
const connectionCounts = [1, 8, 32];
const auditConnectionCounts = [8, 32];
const loadLength = { seconds: 5, warmup: 2 };
const signOperation = 'signature/sign';
const goodAnswer = '"resultMajor":0';

/** The quickstart's client whose profile makes keys of each type. */
const clientOf = { 'RSA-2048': 'app', 'P-256': 'other' } as const satisfies Record<KeyType, keyof Quickstart['clients']>;

const document = randomBytes(768).toString('base64');

function signRequest({ reference, password }: Reference): object {
  return {
    keyReference: { reference, password },
    parameters: { rawSignature: {} },
    inputDocuments: [{ ID: 'd', base64Data: { base64Value: document } }],
  };
}

function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

async function loads(name: string, target: Target): Promise<Load[]> {
  const results: Load[] = [];
  for (const connections of connectionCounts) {
    say(`${name}, connections: ${connections}`);
    // One after the other, since they would compete for the processor.
    results.push(await measureLoad(target, { connections, ...loadLength }));
  }
  return results;
}

interface WithSize extends Measured {
  readonly answerBytes: number;
}

async function measureType(type: KeyType, quickstart: Quickstart, token: ScratchToken | undefined, bodyFile: string): Promise<WithSize> {
  const service = new ServiceClient(quickstart, quickstart.clients[clientOf[type]]);
  const key = await service.createKey();
  try {
    const body = signRequest(key);
    writeFileSync(bodyFile, JSON.stringify(body), { mode: 0o600 });
    const answerBytes = await service.answerBytes(signOperation, body);
    say(`${type}, C alone`);
    const ceiling = token === undefined ? undefined : await measureCeiling(token, type, ceilingLength);
    const { client } = service;
    const { caCertificate } = quickstart;
    const target = { url: service.urlOf(signOperation), client, caCertificate, bodyFile, expected: goodAnswer, pids: signetdPids() };
    return { type, ceiling, answerBytes, loads: await loads(`signetd ${type}`, target) };
  } finally {
    await service.removeKey(key);
  }
}

async function measureBare(directory: string, bodyFile: string, answerBytes: number): Promise<Load[]> {
  const certificates = createScratchCertificates(directory);
  const { client, caCertificate } = certificates;
  const server = await startBareServer(certificates, answerBytes);
  try {
    return await loads('bare server', { url: server.url, client, caCertificate, bodyFile, expected: goodAnswer, pids: [server.pid] });
  } finally {
    await server.stop();
  }
}

async function bench(quickstart: Quickstart, directory: string): Promise<void> {
  compiled('ceiling');
  compiled('load');
  const token = createScratchToken(directory);
  if (token === undefined) say('SoftHSM (package softhsm2) is not installed: no comparison with C');
  if (token !== undefined) print(await reportTokenLayer(token, directory, say));
  const bodyFile = join(directory, 'request.json');
  const measured: WithSize[] = [];
  for (const type of keyTypes) measured.push(await measureType(type, quickstart, token, bodyFile));
  // The bare server gets the request of the last type, P-256, and sends an answer of the same size.
  const bare = await measureBare(directory, bodyFile, measured.at(-1)?.answerBytes ?? 1024);
  print(report(measured, bare));
  print(await twoStepLines(quickstart, directory, say));
  say('with and without the audit log, in turns');
  print((await measureAuditCost(auditConnectionCounts, signRequest)).map(auditCostLine));
  say('the state store on both databases');
  print(await stateCommitLines());
  print(jsonCostLines());
  print(await reportKeys(quickstart, say));
  print(await reportCades(quickstart, say));
  say('the transfer store');
  print(await transferLines(quickstart, directory));
  print(await levelLines(quickstart, directory, say));
  print(await xadesLines(quickstart, directory, say));
  print(await padesLines(quickstart, directory, say));
  print(await twoDDocLines(quickstart, directory, say));
  say('a long CRL');
  print([measureCrl()]);
}

/** Prints a part as soon as it is measured, so that a later failure does not lose it. */
function print(part: readonly string[]): void {
  for (const line of [...part, '']) console.log(line);
}

const quickstart = readQuickstart();
if (quickstart === undefined) {
  console.error('No quickstart to measure: run `npm run quickstart` first.');
  process.exit(1);
}
// An interrupt ends the program that is running at that moment; its failure then leads to the
// removal of keys and files.
process.on('SIGINT', () => undefined);
const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-'));
try {
  await bench(quickstart, directory);
} catch (error) {
  const refused = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
  say(refused ? `no process listens on ${quickstart.baseUrl}: run \`npm run quickstart\` first` : String(error));
  process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
