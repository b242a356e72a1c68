import { randomUUID } from 'node:crypto';
import { Router, type NextFunction, type Request, type Response } from 'express';
import { runCommand, type AdminContext } from '../admin/commands.ts';
import type { AdminRequest } from '../admin/protocol.ts';
import type { AdministrationEntry } from '../audit/record.ts';
import { Problem, sendProblem } from '../http/problem.ts';
import { Refusal } from '../result-codes.ts';
import { StoreUnavailable } from '../state/store-unavailable.ts';
import { version } from '../telemetry/version.ts';
import { auditRecords } from './audit-records.ts';
import { checkAdmission, checkSameOrigin } from './admission.ts';
import { configurationView } from './configuration-view.ts';
import type { MetricsHistory } from './history.ts';
import { searchKeys } from './key-search.ts';
import type { Access, AuditRecords, ConfigurationInForce, FoundKeys, Overview, Service, SignedIn } from './page/answers.ts';
import type { OperatorGroup } from './operator-group.ts';
import type { PageFiles } from './page-files.ts';
import { auditQueryOf, codeOf, credentialsOf, keyQueryOf, momentOf, referenceOf, setCookie } from './requests.ts';
import { sharedHealth } from './shared-health.ts';
import { serviceView, type ServiceSources } from './service-view.ts';
import type { Operator, SignIns, View } from './sign-ins.ts';

export interface ConsoleParts {
  readonly administration: AdminContext & ServiceSources;
  readonly history: MetricsHistory;
  readonly signIns: SignIns;
  readonly operatorGroup: OperatorGroup;
  readonly files: PageFiles;
  readonly access: Access;
  /** `listeners.operations.host`. */
  readonly host: string;
}

const runningVersion = version();

/**
 * The operator console, to be mounted at `/console`. Everybody who reaches the listener sees what
 * /health/ready and /metrics say; an operator who is signed in sees the rest.
 */
export function consoleRouter(given: ConsoleParts): Router {
  const { health, token, audit } = given.administration;
  const shared = sharedHealth(health, () => `${token.ready} ${audit.status.writable}`);
  const parts = { ...given, administration: { ...given.administration, health: shared } };
  const router = Router({ caseSensitive: true, strict: true });
  router.use((request, _response, next) => {
    checkAdmission(request, parts.host);
    if (request.path.startsWith('/api/')) checkSameOrigin(request);
    next();
  });
  addPublicRoutes(router, parts);
  addOperatorRoutes(router, parts);
  addFiles(router, parts);
  router.use(() => {
    throw new Problem(404, 'the console has no such path');
  });
  router.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    sendProblem(response, problemOf(error, parts.administration));
  });
  return router;
}

/** What everybody may see, and the way in. */
function addPublicRoutes(router: Router, parts: ConsoleParts): void {
  const { administration, history, signIns, access } = parts;
  router.get('/api/overview', async (_request, response) => {
    answer(response, await overviewOf(administration));
  });
  router.get('/api/history', (request, response) => {
    answer(response, history.after(momentOf(request)));
  });
  router.post('/api/sign-in', async (request, response) => {
    const signedIn = signIns.signIn(codeOf(request));
    if (signedIn === undefined) throw new Problem(401, 'this link was used already, or is too old; run signetctl console again');
    const { operator, session, token } = signedIn;
    await checkGroup(parts, operator.uid);
    await administration.audit.administer(entryOf('console sign-in', operator.uid), async () => Promise.resolve({ value: undefined }));
    administration.log.info('an operator signed in to the console', { uid: operator.uid });
    setCookie(request, response, session);
    answer(response, { token, operator: nameOf(operator), access, endsAt: new Date(operator.endsAt).toISOString() } satisfies SignedIn);
  });
  router.post('/api/sign-out', (request, response) => {
    signIns.signOut(credentialsOf(request));
    setCookie(request, response, '');
    answer(response, {});
  });
}

/** What only operators see and do who are signed in. */
function addOperatorRoutes(router: Router, parts: ConsoleParts): void {
  const { administration, signIns, access } = parts;
  const operatorOf = async (request: Request): Promise<Operator> => {
    const operator = signIns.operator(credentialsOf(request));
    if (operator === undefined) throw new Problem(401, 'sign in with a link from signetctl console');
    await checkGroup(parts, operator.uid);
    return operator;
  };

  router.get('/api/service', async (request, response) => {
    const operator = await operatorOf(request);
    const signedInUntil = new Date(operator.endsAt).toISOString();
    answer(response, { operator: nameOf(operator), access, signedInUntil, ...(await serviceView(administration)) } satisfies Service);
  });
  router.get('/api/keys', async (request, response) => {
    const { uid } = await operatorOf(request);
    const query = keyQueryOf(request);
    const found = await administration.audit.administer(entryOf('key list', uid), async () => ({
      value: await searchKeys(administration.store, query),
    }));
    answer(response, found satisfies FoundKeys);
  });
  router.get('/api/keys/:reference', async (request, response) => {
    const { uid } = await operatorOf(request);
    answer(response, await commanded(administration, { command: 'key show', reference: referenceOf(request) }, uid));
  });
  router.post('/api/keys/:reference/unlock', async (request, response) => {
    const { uid } = await operatorOf(request);
    if (access !== 'operate') throw new Problem(403, 'the configuration lets the console change nothing (listeners.operations.console)');
    answer(response, await commanded(administration, { command: 'key unlock', reference: referenceOf(request) }, uid));
  });
  router.get('/api/audit', async (request, response) => {
    const { uid } = await operatorOf(request);
    const query = auditQueryOf(request);
    const read = async (): Promise<AuditRecords> => auditRecords(administration.config().audit, query);
    answer(response, await viewed(parts, request, { view: 'audit', uid }, read));
  });
  router.get('/api/configuration', async (request, response) => {
    const { uid } = await operatorOf(request);
    const read = async () => Promise.resolve(configurationView(administration.config()));
    const sections = await viewed(parts, request, { view: 'configuration', uid }, read);
    answer(response, { path: administration.configPath, sections } satisfies ConfigurationInForce);
  });
}

/** The page itself. */
function addFiles(router: Router, { files }: ConsoleParts): void {
  router.get('/', (request, response) => {
    // Relative addresses in the page need the slash.
    if (request.originalUrl.startsWith('/console/')) files.send(response, '');
    else response.redirect(308, '/console/');
  });
  router.get('/:file', (request, response) => {
    files.send(response, request.params.file);
  });
}

/** The audit record of something that an operator does in the console. */
function entryOf(command: string, uid: number): AdministrationEntry {
  return { kind: 'administration', request: randomUUID(), uid, via: 'console', command };
}

/** Returns what everybody may know. */
async function overviewOf({ health, startedAt }: AdminContext): Promise<Overview> {
  const faults = await health.ready();
  const isReady = Object.keys(faults).length === 0;
  const [now, started] = [new Date().toISOString(), startedAt.toISOString()];
  return { version: runningVersion, now, started, isReady, faults, warnings: health.warnings() };
}

/**
 * Ends the sessions of an operator who may not use the admin socket any more.
 * @throws {Problem} 401 then
 */
async function checkGroup({ operatorGroup, signIns, administration }: ConsoleParts, uid: number): Promise<void> {
  if (await operatorGroup.admits(uid)) return;
  if (signIns.end(uid)) {
    await administration.audit.administer(entryOf('console end', uid), async () => Promise.resolve({ value: undefined }));
    administration.log.info('a user who is not in the group of operators was signed out of the console', { uid });
  }
  throw new Problem(401, 'you are not in the group of operators (admin.group)');
}

/**
 * Reads something that no command reads, and records that the operator did: the first read of a
 * session, and one of those that follow every ten minutes.
 * @throws {Refusal} STORE_FULL while nothing can be recorded
 */
async function viewed<T>(
  { administration, signIns }: ConsoleParts,
  request: Request,
  { view, uid }: { readonly view: View; readonly uid: number },
  read: () => Promise<T>,
): Promise<T> {
  const credentials = credentialsOf(request);
  if (!signIns.isRecordDue(credentials, view)) return read();
  const value = await administration.audit.administer(entryOf(`${view} view`, uid), async () => ({ value: await read() }));
  signIns.recorded(credentials, view);
  return value;
}

/** Executes a command as signetctl does: it is recorded with the operator. @throws {Problem} */
async function commanded(administration: AdminContext, request: AdminRequest, uid: number): Promise<unknown> {
  const answered = await runCommand(administration, request, uid, { via: 'console' });
  if (answered.outcome === 'done') return answered.result;
  throw new Problem(answered.outcome === 'refused' ? 409 : 503, answered.faults.join('; '));
}

/** `value`: of a type of `page/answers.ts`. */
function answer(response: Response, value: unknown): void {
  response.setHeader('Cache-Control', 'no-store');
  response.json(value);
}

function nameOf({ uid }: Operator): string {
  return uid === 0 ? 'root' : `user ${uid}`;
}

function problemOf(error: unknown, { log }: AdminContext): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof Refusal || error instanceof StoreUnavailable) return new Problem(503, error.message);
  // express: a path whose percent-encoding is wrong.
  if (error instanceof URIError) return new Problem(400, 'the path is not valid');
  log.error('internal error of the console', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return new Problem(500, 'internal error; see the log of signetd');
}
