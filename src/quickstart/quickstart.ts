import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { registerClient } from '../clients/registry.ts';
import { loadConfig } from '../config/config.ts';
import { openSqliteStore } from '../state/threaded-store.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { makeAuthorities, makeTimeStampAuthority, rootCertificate } from './authorities.ts';
import {
  addDigitalIdentity,
  addOtpTenant,
  addTimeStampAuthority,
  completeConfig,
  publicUrlOf,
  writeConfig,
  type OwnAuthorities,
  type Ports,
} from './configuration.ts';
import { clientEntries, describe, fileEntries, twoDDocEntry, type Description } from './description.ts';
import { isReady, runningPid, startDaemon, stopDaemon } from './daemon.ts';
import { makeDevelopmentToken } from './development-token.ts';
import { hasDigitalIdentity, identityTenant, makeDigitalIdentity } from './digital-identity.ts';
import { makeFirstCode, type FirstCode } from './first-code.ts';
import { signFirstDocument, type FirstSignature } from './first-signature.ts';
import { ensureGateways, stopGateways } from './gateway-process.ts';
import { hasGateways, type GatewayPorts } from './gateway-settings.ts';
import { makeIdentityProvider } from './identity-provider.ts';
import { giveKeysTheirPurposes } from './key-purposes.ts';
import { clientFiles, commands, layout, makeDirectory } from './layout.ts';
import { firstPorts, freePort, isFree } from './ports.ts';
import { timestampUrlOf } from './time-stamps.ts';
import { clients, makeClientCertificate, makeTlsMaterial } from './tls-material.ts';

const portAttempts = 10;

/**
 * `npm run quickstart`: a running service with a first signature, everything under var/quickstart/.
 */
async function quickstart(): Promise<void> {
  let pid: number;
  if (existsSync(layout.description)) {
    say(`Using the existing quickstart in ${layout.directory}`);
    pid = await ensureRunning(readDescription());
  } else {
    pid = await setUp();
  }
  const description = readDescription();
  const first = await step('creating a key and signing a document over mTLS', async () => signFirstDocument(description));
  const code = await step('making a 2D-Doc code', async () => firstCode(description));
  account(description, pid, first, code);
}

/**
 * Returns the code, or why there is none: the user may have changed the identity's password or
 * configuration, which is no reason to report that the service does not work.
 */
async function firstCode(description: Description): Promise<FirstCode | string> {
  try {
    return (await makeFirstCode(description)) ?? 'there is no digital identity';
  } catch (error) {
    return reasonOf(error);
  }
}

/**
 * The description is written last: a directory without one is the rest of an interrupted set-up.
 */
async function setUp(publicFrom = firstPorts.public, attempt = 1): Promise<number> {
  await stopDaemon();
  await stopGateways();
  makeDirectory();
  makeFileDirectories();
  await step('making a development token (SoftHSM)', makeDevelopmentToken);
  await step('making the TLS certificates', makeTlsMaterial);
  writeConfig({ api: 0, operations: 0, public: 0 }, undefined);
  // Certificates name the public listener, so its port comes first.
  const publicPort = await freePort(publicFrom);
  const publicUrl = publicUrlOf(publicPort);
  const certificateAuthorities = await step('making a root and an issuing CA on the token', async () => makeAuthorities(publicUrl));
  const timeStampAuthority = await step('making a time-stamp authority on the token', async () =>
    makeTimeStampAuthority(publicUrl, certificateAuthorities.root),
  );
  const authorities = { certificateAuthorities, timeStampAuthority };
  writeConfig({ api: 0, operations: 0, public: publicPort }, authorities);
  await step('making a digital identity of 2D-Doc on the token', makeDigitalIdentity);
  makeIdentityProvider();
  await step('registering the clients', async () => registerClients());
  const gateways = await step('starting an SMTP receiver and an SMS gateway', ensureGateways);
  try {
    const { ports, pid } = await step('starting the service', async () => startOnFreePorts(authorities, publicPort, gateways));
    writeDescription(describe(ports, rootCertificate));
    return pid;
  } catch (error) {
    if (attempt === portAttempts || (await isFree(publicPort))) throw error;
    say(`
Another program took port ${publicPort} while the service was set up. Certificates contain the address of the public
listener, so everything is made once more, with the next free port:
`);
    return setUp(publicPort + 1, attempt + 1);
  }
}

/**
 * Starts the service. A port that was free a moment ago may be taken by then: in that case the next
 * ones are tried.
 */
async function startOnFreePorts(
  authorities: OwnAuthorities,
  publicPort: number,
  gateways: GatewayPorts,
): Promise<{ ports: Ports; pid: number }> {
  let from: Omit<Ports, 'public'> = firstPorts;
  for (let attempt = 1; ; attempt += 1) {
    const api = await freePort(from.api, [publicPort]);
    const operations = await freePort(from.operations, [api, publicPort]);
    const ports = { api, operations, public: publicPort };
    writeConfig(ports, authorities, gateways);
    try {
      return { ports, pid: await startDaemon(describe(ports, rootCertificate).opsUrl) };
    } catch (error) {
      const wasTaken = error instanceof Error && error.message.includes('EADDRINUSE');
      if (attempt === portAttempts || !wasTaken || !(await isFree(publicPort))) throw error;
      process.stdout.write('another program took a port; trying the next ones … ');
      from = { api: api + 1, operations: operations + 1 };
    }
  }
}

/** Makes the directories in which callers may have files read and written. */
function makeFileDirectories(): void {
  for (const directory of [layout.read, layout.write]) mkdirSync(directory, { recursive: true, mode: 0o700 });
}

async function registerClients(names: readonly string[] = Object.keys(clients)): Promise<void> {
  const store = await openSqliteStore(layout.state);
  for (const [name, registration] of Object.entries(clients)) {
    if (registration === undefined || !names.includes(name)) continue;
    await registerClient(store, { name, ...registration, certificate: new X509Certificate(readFileSync(clientFiles(name).certificate)) });
  }
  await store.close();
}

function writeDescription(description: Description): void {
  writeFileSync(layout.description, `${JSON.stringify(description, undefined, 2)}\n`);
}

function readDescription(): Description {
  // Our own file, written by `describe`.
  return JSON.parse(readFileSync(layout.description, 'utf8')) as Description;
}

/**
 * Starts the service unless it is running. The ports of the first start are kept, since callers
 * know them.
 */
async function ensureRunning(description: Description): Promise<number> {
  const running = runningPid();
  if (running !== undefined && (await isReady(description.opsUrl, running))) {
    say(`signetd is already running (process ${running})`);
    if (hasGateways()) await ensureGateways();
    return running;
  }
  for (const url of [description.baseUrl, description.opsUrl, description.publicUrl]) {
    if (url === undefined) continue;
    const port = Number(new URL(url).port);
    if (!(await isFree(port))) {
      throw new Error(
        `port ${port} of this quickstart is used by another program; stop that program, or remove ${layout.directory} to start afresh`,
      );
    }
  }
  makeFileDirectories();
  const identityProvider = makeIdentityProvider();
  const { publicUrl } = description;
  await giveKeysTheirPurposes();
  completeConfig(await ensureGateways(), publicUrl);
  await ensureTimeStampAuthority(publicUrl);
  await ensureDigitalIdentity();
  await ensureOtpClient(description);
  // Any of these may have changed: a later version writes more, and the user may edit the
  // configuration.
  const { signRoot, doc2dRoot, ftmRoot, cscRoot } = loadConfig(layout.config).paths;
  const pid = await step('starting the service', async () => startDaemon(description.opsUrl));
  const timestampUrl = publicUrl === undefined ? {} : { timestampUrl: timestampUrlOf(publicUrl) };
  const found = { signRoot, doc2dRoot, ftmRoot, cscRoot, outboxDirectory: layout.outbox, identityProvider, ...twoDDocEntry() };
  writeDescription({ ...description, ...clientEntries(), ...timestampUrl, ...fileEntries(), ...found });
  return pid;
}

/**
 * Adds the time-stamp authority to an environment of an earlier version, while the service is not
 * running.
 */
async function ensureTimeStampAuthority(publicUrl: string | undefined): Promise<void> {
  const { timeStampAuthority, certificateAuthorities } = loadConfig(layout.config);
  const { root } = certificateAuthorities;
  if (timeStampAuthority !== undefined || publicUrl === undefined || root === undefined) return;
  const made = await step('making a time-stamp authority on the token', async () => makeTimeStampAuthority(publicUrl, root));
  addTimeStampAuthority(made);
}

/**
 * Adds the digital identity to an environment of an earlier version, while the service is not
 * running.
 */
async function ensureDigitalIdentity(): Promise<void> {
  if (hasDigitalIdentity() || loadConfig(layout.config).tenants[identityTenant] === undefined) return;
  addDigitalIdentity();
  await step('making a digital identity of 2D-Doc on the token', makeDigitalIdentity);
}

/**
 * Adds the client whose one-time passwords are delivered, and its tenant, to an environment of an
 * earlier version, while the service is not running.
 */
async function ensureOtpClient(description: Description): Promise<void> {
  if (description.clients['otp'] !== undefined) return;
  addOtpTenant();
  await step('registering the client otp', async () => {
    await makeClientCertificate('otp');
    await registerClients(['otp']);
  });
}

async function step<T>(title: string, work: () => Promise<T>): Promise<T> {
  process.stdout.write(`  ${title} … `);
  const started = performance.now();
  try {
    const value = await work();
    process.stdout.write(`${((performance.now() - started) / 1000).toFixed(1)} s\n`);
    return value;
  } catch (error) {
    process.stdout.write('failed\n');
    throw error;
  }
}

function account(description: Description, pid: number, first: FirstSignature, code: FirstCode | string): void {
  say(`
signetd is running at ${description.baseUrl} (process ${pid}, log ${layout.log})

  It created a key on the token, with the certificate ${first.reference},
  and signed ${first.document};
  the signature is ${first.signature} (CAdES, detached).

  The signing request, as sent by curl:
    ${first.curl}

  Verification of the signatures by OpenSSL:
    CAdES:  ${first.cmsVerdict}
    raw:    ${first.rawVerdict}
    PAdES:  ${first.pdfVerdict}
    2D-Doc: ${typeof code === 'string' ? `no code was made: ${code}` : code.verdict}

  The SMS and e-mail messages that it sends arrive as files in ${description.outboxDirectory ?? layout.outbox}.
  Everything that a caller needs is in ${layout.description}.

  The API is documented at ${description.opsUrl}/docs and in docs/api.md.

  Next: change the request and send it again, see ${description.opsUrl}/health/ready,
  stop with "${commands.stop}"; "${commands.start}" starts it again with the same data.

  It also signed a PDF, visibly${typeof code === 'string' ? '. Open it first' : ', and a 2D-Doc code. Open them first'}:
    ${first.pdf}${typeof code === 'string' ? '' : `\n    ${code.picture}`}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  await quickstart();
} catch (error) {
  process.stderr.write(`\nquickstart: ${reasonOf(error)}\n`);
  process.exitCode = 1;
}
