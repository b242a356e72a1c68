import { ApprovedCommands } from '../admin/approved-commands.ts';
import { runCommand } from '../admin/commands.ts';
import { reloadBySignal } from '../admin/reload.ts';
import { openAudit, type RunningAudit } from '../audit/open-audit.ts';
import { openClientAuthority } from '../certificates/configured-authorities.ts';
import { ClientRegistry } from '../clients/registry.ts';
import type { Config } from '../config/config.ts';
import { warnOfReadableFiles } from '../config/readable-files.ts';
import { Reloader } from '../config/reloader.ts';
import { createApi } from '../http/api/api.ts';
import { Guard } from '../http/api/guard.ts';
import type { Express } from 'express';
import { mountDocumentation } from '../http/documentation/mount.ts';
import { createOperationsServer } from '../http/health-listener.ts';
import { clientOf } from '../http/tls/mtls-listener.ts';
import { KeptAnswers } from '../idempotency/kept-answers.ts';
import { AnswerKeys } from '../idempotency/answer-keys.ts';
import type { MacKeyInForce } from '../keys/mac-key.ts';
import type { Keyring } from '../keys/keyring.ts';
import { operations } from '../operations/table.ts';
import { Draining } from '../service/draining.ts';
import { releaseFreeMemoryRegularly } from '../service/memory-release.ts';
import type { ServiceManager } from '../service/service-manager.ts';
import { Watchdog } from '../service/watchdog.ts';
import { Sessions } from '../signatures/sessions/sessions.ts';
import type { TransferStore } from '../documents/transfer/transfer-store.ts';
import type { StateStore } from '../state/state-store.ts';
import { openStateStore } from '../state/threaded-store.ts';
import { authorityMetrics } from '../telemetry/authority-metrics.ts';
import { auditMetrics, keptAnswerMetrics, sessionMetrics, stateMetrics, syslogMetrics } from '../telemetry/storage-metrics.ts';
import type { LeveledLog } from '../telemetry/log.ts';
import { messageMetrics } from '../telemetry/outgoing-metrics.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { readinessMetrics } from '../telemetry/readiness-metrics.ts';
import { requestMetrics } from '../telemetry/http-metrics.ts';
import { laneNames, WorkThreads } from '../threads/work-threads.ts';
import { threadGauges, threadMetrics } from '../telemetry/thread-metrics.ts';
import type { TokenClient } from '../token/client/token-client.ts';
import { SignIns } from '../console/sign-ins.ts';
import { addressOf } from '../service/listen.ts';
import { consoleLinks, consoleMounts } from './open-console.ts';
import { standByWhileClockIsBehind } from './clock-stand-by.ts';
import { heldHangUps, openAdministration, openApprovals, recordedIn } from './administration.ts';
import { ClientLists } from './client-lists.ts';
import { machineMetrics } from './early-metrics.ts';
import { listenAll, openApiListener, watchServers, type Servers } from './listeners.ts';
import { openCheckedAuthorities } from './checked-authorities.ts';
import { openDocuments, warmUpPictures } from './open-documents.ts';
import { openKeys, startKeyUpkeep } from './open-keys.ts';
import { openToken } from './open-token.ts';
import type { Parts } from './parts.ts';
import { PublishedServices } from './published-services.ts';
import { serviceHealth, servingStatus } from './readiness.ts';
import { ReloadedLimits } from './reloaded-limits.ts';
import { openReminders } from './open-reminders.ts';
import { ServicesInForce } from './services-in-force.ts';
import { checkStartFiles } from './start-files.ts';
import { standByWhileOlder, standByWithoutToken } from './stand-by.ts';
import { stopAtSignals } from './stopping.ts';

interface Start {
  readonly config: Config;
  readonly configPath: string;
  readonly log: LeveledLog;
  /** Receives the parts that are opened. If the start fails, the caller closes them. */
  readonly parts: Parts;
  readonly manager: ServiceManager;
  /** Descriptors of the sockets that the service manager passed, by name. */
  readonly sockets: ReadonlyMap<string, number>;
}

/** Values that are available to the start of every part. */
interface Base extends Start {
  readonly startedAt: Date;
  /** Holds the configuration in force. Parts that a reload changes join it. */
  readonly reloader: Reloader;
  readonly draining: Draining;
  readonly metrics: Metrics;
  readonly store: StateStore;
}

/** Services that the listeners and the administration use. */
interface OpenedServices {
  readonly token: TokenClient;
  readonly macKey: MacKeyInForce;
  readonly answerKeys: AnswerKeys;
  readonly clients: ClientRegistry;
  readonly keys: Keyring;
  readonly audit: RunningAudit;
  readonly published: PublishedServices;
  readonly guard: Guard;
  readonly limits: ReloadedLimits;
  readonly services: ServicesInForce;
  readonly transfers: TransferStore | undefined;
  readonly clientLists: ClientLists;
}

/**
 * Starts the service: opens its parts in order, each with the parts before it, and returns once it
 * serves.
 * @throws {ConfigError} if the configuration is faulty
 * @throws {HostRefusedError} if the token host refuses to start
 * @throws {Error} if the start fails otherwise
 */
export async function startService(start: Start): Promise<void> {
  const { config, configPath, log, parts, manager } = start;
  const startedAt = new Date();
  const answerHangUps = heldHangUps();
  checkStartFiles(config);
  const reloader = new Reloader({
    path: configPath,
    initial: config,
    announce: (state, last) => {
      log.debug(`configuration: ${state}`);
      if (state === 'reloading') manager.reloading('reloading the configuration');
      else manager.ready(servingStatus(last));
    },
  });
  manager.status('starting: waiting for the token and the state store');
  const metrics = new Metrics();
  const ended = stateMetrics(metrics.registry);
  const store = parts.opened('state store', await openStateStore(config.state, log, ended), async (opened) => opened.close());
  const base = { ...start, startedAt, reloader, store, draining: new Draining(), metrics };
  await standByWhileClockIsBehind(base);
  await standByWhileOlder(base);
  const reload = await serve(base, await openServices(base));
  answerHangUps(reload);
}

/** Opens everything that requests use. */
async function openServices(base: Base): Promise<OpenedServices> {
  const { config, configPath, log, parts, store, metrics, reloader, draining } = base;
  const { registry } = metrics;
  const inForce = (): Config => reloader.config;
  const { token, recordedToken, outsideUses, macKey } = await openToken(
    config,
    configPath,
    { parts, store, metrics, log },
    async (waited, cause) => standByWithoutToken(base, waited, cause),
  );
  const authorities = await openCheckedAuthorities({ token, recordedToken }, config);
  const clients = new ClientRegistry(store);
  await clients.load();
  const waited = threadMetrics(registry, laneNames);
  const threads = parts.opened('work threads', new WorkThreads({ waited }), async (opened) => opened.stop());
  threadGauges(registry, laneNames, (lane) => threads.waiting(lane));
  const audit = parts.opened(
    'audit log',
    await openAudit(config.audit, { store, token, log, approvals: config.admin.approvals }),
    async (opened) => opened.stop(),
  );
  outsideUses.recordIn(audit);
  const isTokenBusy = (): boolean => token.waiting > 0;
  const keys = await openKeys({ store, token: recordedToken, macKey, isTokenBusy, threads, metrics, log, audit }, inForce);
  startKeyUpkeep(keys, { parts, log, store, token: recordedToken });
  const limits = new ReloadedLimits(config, clients, registry);
  reloader.join(limits);
  const answerKeys = parts.opened('keys of kept answers', await AnswerKeys.open(store, token, log), (opened) => {
    opened.stop();
  });
  const keptAnswers = await KeptAnswers.open({
    ...{ store, threads, keys: answerKeys },
    ...limits.ofKeptAnswers,
  });
  parts.opened('kept answers', keptAnswers, (opened) => {
    opened.stop();
  });
  keptAnswerMetrics(registry, () => keptAnswers.keptBytes);
  const sessions = parts.opened('sessions', new Sessions(store, answerKeys), (opened) => {
    opened.stop();
  });
  sessionMetrics(registry, async () => store.run('sessionShares', Date.now()));
  warnOfReadableFiles(config, log);
  const forPublishing = { store, token, clients, undoing: keys.destruction, audit, registry, log };
  const ofClients = openClientAuthority(recordedToken, config);
  const published = await PublishedServices.open(forPublishing, config, { authorities, ofClients });
  parts.opened('published services', published, async () => published.stop());
  const clientLists = await ClientLists.open({ threads, registry, log, asked: published.asked }, config);
  parts.opened('CRLs of client CAs', clientLists, async () => clientLists.stop());
  // Joins before the services, which inform the OCSP responders about its certificates.
  reloader.join(published.timeStampAuthority);

  const guard = new Guard(() => limits.current, threads, clientOf, limits.ofRequests);
  const documents = await openDocuments({ parts, store, threads, audit, metrics, log }, config, inForce);
  const lasting = {
    ...{ store, token, recordedToken, clients, keys, sessions, threads, guard, log, audit, keptAnswers, published },
    ...documents,
    metrics: requestMetrics(registry),
    messageMetrics: messageMetrics(registry),
    draining,
  };
  const services = parts.opened('messages', new ServicesInForce(lasting, config, authorities), (opened) => {
    opened.close();
  });
  // One identity without its key keeps nothing else from serving; a reload with such a one is
  // refused.
  for (const reason of await services.identities.keyFaults()) log.error('a digital identity cannot sign', { reason });
  reloader.join(services);
  machineMetrics(registry, config);
  auditMetrics(registry, () => audit.status);
  if (config.audit.syslog !== undefined) syslogMetrics(registry, () => audit.status.syslog);
  authorityMetrics(
    registry,
    () => new Map([...services.authorities].map(([name, { certificate }]) => [name, certificate.notAfter.getTime()])),
  );
  const { transfers } = documents;
  return { token, macKey, answerKeys, clients, keys, audit, published, guard, limits, services, transfers, clientLists };
}

/**
 * Opens the listeners and the admin socket, and lets signals stop the service. Returns a function
 * that reloads the configuration.
 */
async function serve(
  { config, configPath, startedAt, log, parts, manager, sockets, reloader, draining, metrics, store }: Base,
  { token, macKey, answerKeys, clients, keys, audit, published, guard, limits, services, transfers, clientLists }: OpenedServices,
): Promise<() => void> {
  const paths = { operations, ...config.paths };
  const api = createApi(paths, () => services.requests);
  const ofClients = {
    registered: clients.remembered.bind(clients),
    presented: clients.presented.bind(clients),
    admittedMax: limits.ofConnections.bind(limits),
    fetched: clientLists.fetched,
  };
  const apiListener = openApiListener(config, api, { parts, metrics, log, audit, malformed: guard.malformed, ...ofClients });
  clientLists.begin(apiListener.tls, config);
  reloader.join(clientLists);
  reloader.join({
    prepare: (next) => () => {
      log.setLevel(next.log.level);
    },
  });
  const reminders = parts.opened(
    'reminders',
    openReminders({ reloader, metrics, log }, { clients, published, clientLists }, apiListener.tls),
    (opened) => {
      opened.stop();
    },
  );
  const { tls: apiTls } = apiListener;
  const health = serviceHealth({ draining, token, store, audit, services, apiTls, clientLists, published, transfers, reminders, limits });
  readinessMetrics(metrics.registry, async () => health.ready());
  const signIns = new SignIns();
  const approvals = openApprovals(config.admin, recordedIn(audit));
  const administration = {
    approved: approvals && new ApprovedCommands(approvals, () => reloader.config),
    ...{ store, registry: clients, keys, audit, log, reloader, health, configPath, startedAt, token, macKey, answerKeys },
    config: () => reloader.config,
    apiAddress: () => (apiListener.server.listening ? addressOf(apiListener.server) : undefined),
    console: consoleLinks(config.listeners.operations, signIns, () => addressOf(servers.operations)),
  };
  const mounts = [
    // For browsers that have no client certificate.
    (app: Express) => {
      mountDocumentation(app, paths, () => ({ limits: reloader.config.limits, check: async () => Promise.resolve() }));
    },
    ...consoleMounts(config, { administration, signIns, metrics: metrics.registry, log, parts }),
  ];
  const servers: Servers = {
    api: apiListener.server,
    operations: createOperationsServer(health, metrics, config.listeners.operations, mounts),
    public: published.server(config),
  };
  watchServers(servers, { draining, parts });
  const adminSocket = await openAdministration(config.admin, {
    ...{ log, parts, approvals },
    run: async (request, uid, peer) => runCommand(administration, request, uid, { peer }),
  });
  const vitalSigns = [
    { name: 'database thread', check: async () => store.answer() },
    { name: 'token client', check: token.checkSupervised.bind(token) },
  ];
  const watchdog = new Watchdog(manager, vitalSigns, (name, reason) => {
    log.error('a part of the service no longer responds', { name, reason });
  });
  stopAtSignals({
    ...{ log, manager, watchdog, draining, parts },
    drainSeconds: () => reloader.config.limits.drainSeconds,
    endAdministration: async () => adminSocket.close(),
  });
  warmUpPictures(config.tenants);
  log.info('ready', await listenAll(servers, config.listeners, sockets));
  watchdog.start();
  releaseFreeMemoryRegularly();
  reminders.remind();
  manager.ready(servingStatus(reloader.last));
  return () => {
    // A reload may issue certificates, which a stopping service could no longer record.
    if (!draining.begun) void reloadBySignal(administration);
  };
}
