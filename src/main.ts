import { AdminSocket } from './admin/admin-socket.ts';
import { runCommand, type AdminContext } from './admin/commands.ts';
import { reloadBySignal } from './admin/reload.ts';
import { openAudit } from './audit/open-audit.ts';
import { recordingToken } from './audit/use-recorder.ts';
import { checkProfiles } from './certificates/profile-check.ts';
import { IdentityProviders } from './certificates/jwt/identity-providers.ts';
import { openAuthorities } from './certificates/configured-authorities.ts';
import { ClientRegistry } from './clients/registry.ts';
import { programArguments } from './config/arguments.ts';
import { ConfigError, loadConfig, type Config } from './config/config.ts';
import { Reloader } from './config/reloader.ts';
import { warnOfReadableFiles } from './config/readable-files.ts';
import { limitsWithUploads, writeDirectoriesOf } from './daemon/document-options.ts';
import { checkKeyTypes, keysOf, macKeyOptions } from './daemon/key-options.ts';
import { heldHangUps } from './daemon/hang-up.ts';
import { tenantLevels } from './daemon/level-services.ts';
import { openKeys } from './daemon/open-keys.ts';
import { otpDelivery } from './daemon/otp-delivery.ts';
import { PublishedServices } from './daemon/published-services.ts';
import { readinessFaults } from './daemon/readiness.ts';
import { standByWhileOlder } from './daemon/stand-by.ts';
import { stopService } from './daemon/stopping.ts';
import { StagedNames } from './documents/paths/staged-names.ts';
import { Publications } from './documents/publications.ts';
import { TransferStore } from './documents/transfer/transfer-store.ts';
import { createApi, type ApiOptions } from './http/api/api.ts';
import { Guard } from './http/api/guard.ts';
import { callerOf, clientOf, createApiListener } from './http/tls/mtls-listener.ts';
import { createOperationsServer } from './http/health-listener.ts';
import { parseTokenJson } from './http/json/strict-json.ts';
import { KeptAnswers } from './idempotency/kept-answers.ts';
import { tokenMacOfKeptAnswers } from './idempotency/token-key.ts';
import { establishMacKey } from './keys/mac-key.ts';
import { Messenger } from './messages/messenger.ts';
import type { Context } from './operations/operation.ts';
import { operations } from './operations/table.ts';
import { Draining } from './service/draining.ts';
import { addressOf, listen } from './service/listen.ts';
import { listenFds } from './service/listen-fds.ts';
import { serviceManager } from './service/service-manager.ts';
import { Watchdog } from './service/watchdog.ts';
import type { LevelServices } from './signatures/level-order.ts';
import { Sessions } from './signatures/sessions/sessions.ts';
import { openStateStore } from './state/threaded-store.ts';
import { createLog, type LeveledLog } from './telemetry/log.ts';
import { messageMetrics } from './telemetry/message-metrics.ts';
import { keptAnswerMetrics } from './telemetry/kept-answer-metrics.ts';
import { listenerMetrics } from './telemetry/listener-metrics.ts';
import { auditMetrics } from './telemetry/audit-metrics.ts';
import { authorityMetrics } from './telemetry/authority-metrics.ts';
import { Metrics } from './telemetry/metrics.ts';
import { processMetrics } from './telemetry/process-metrics.ts';
import { requestMetrics } from './telemetry/request-metrics.ts';
import { transferMetrics } from './telemetry/transfer-metrics.ts';
import { WorkThreads } from './threads/work-threads.ts';
import { outcomeOf } from './token/client/answers.ts';
import { TokenClient } from './token/client/token-client.ts';
import { HostRefusedError } from './token/token.ts';

/** What requests go by under one configuration. */
interface Valid extends Pick<Context, 'config' | 'authorities' | 'messages' | 'identityProviders'> {
  readonly services: LevelServices;
}

/** The daemon: wires the rooms together and decides nothing. */
async function run(config: Config, configPath: string, log: LeveledLog): Promise<void> {
  const startedAt = new Date();
  const answerHangUps = heldHangUps();
  const manager = serviceManager(process.env, process.pid, (reason) => {
    log.warn('the service manager takes no message', { reason });
  });
  const sockets = listenFds(process.env, process.pid, Object.keys(config.listeners));
  manager.status('starting: waiting for the token and the state store');
  const store = await openStateStore(config.state, log);
  await standByWhileOlder({ config, configPath, startedAt, store, log, manager, sockets });
  const metrics = new Metrics();
  const tokenMetrics = metrics.token({ ready: () => token.ready, waiting: () => token.waiting });
  const token = new TokenClient(config.token, configPath, log, (operation, status, waitedMs, tokenMs) => {
    tokenMetrics.served(operation, outcomeOf(status), waitedMs, tokenMs);
  });
  await token.start();
  await establishMacKey(store, token, macKeyOptions(config, log));
  checkKeyTypes(config, token);
  // What is signed before the log is open is told to it then.
  const early: string[] = [];
  let useOutside = (use: string): unknown => early.push(use);
  const recordedToken = recordingToken(token, (use) => {
    useOutside(use);
  });
  const authorities = await openAuthorities(recordedToken, config.certificateAuthorities);
  checkProfiles(config.tenants, authorities);
  const clients = new ClientRegistry(store);
  await clients.load();
  let validConfig = config;
  const threads = new WorkThreads();
  const keys = await openKeys(
    { store, token: recordedToken, isTokenBusy: () => token.waiting > 0, threads, metrics, log },
    () => validConfig,
  );
  const audit = await openAudit(config.audit, { store, token, log });
  useOutside = (use) => {
    audit.useOutside(use);
  };
  for (const use of early) audit.useOutside(use);
  const tokenMac = await tokenMacOfKeptAnswers(store, token, log);
  const keptAnswers = await KeptAnswers.open({
    ...{ store, threads, tokenMac },
    limits: () => ({ client: validConfig.limits.keptAnswersMaxBytesPerClient, all: validConfig.limits.keptAnswersMaxBytes }),
  });
  keptAnswerMetrics(metrics.registry, () => keptAnswers.keptBytes);
  const sessions = new Sessions(store, tokenMac);
  warnOfReadableFiles(config, log);

  const published = await PublishedServices.open(
    { store, token, undoing: keys.destruction, audit, registry: metrics.registry, log },
    config,
    authorities,
  );

  const guard = new Guard(config.limits, threads, clientOf);
  const requests = requestMetrics(metrics.registry);
  const owner = config.audit.name;
  const transfers =
    config.transferStore === undefined
      ? undefined
      : await TransferStore.open({
          ...{ store, owner, threads, log, config: config.transferStore },
          metrics: transferMetrics(metrics.registry, async () => store.run('transferShares')),
        });
  const stagedNames = new StagedNames(owner);
  const isRecorded = (request: string): boolean => audit.isRecorded(request);
  const publications = await Publications.open({
    ...{ store, owner, names: stagedNames, transfers, isRecorded, log },
    writeDirectories: () => writeDirectoriesOf(validConfig),
  });
  void stagedNames.removeLeft(writeDirectoriesOf(config), log);
  let validAuthorities = authorities;
  /** What requests go by under one configuration; a reload makes the next. */
  const apiOptions = ({ services, ...valid }: Valid): ApiOptions => ({
    operations,
    signRoot: valid.config.paths.signRoot,
    ftmRoot: valid.config.paths.ftmRoot,
    transfers,
    guard,
    jsonBodyMaxBytes: valid.config.limits.jsonBodyMaxBytes,
    documentsMax: valid.config.limits.documentsMax,
    log,
    draining: () => draining.refusing,
    busySeconds: () => token.busySeconds,
    callerOf: async (request) => {
      const caller = await callerOf(request, clients);
      return caller !== undefined && Object.hasOwn(valid.config.tenants, caller.tenant) ? caller : undefined;
    },
    admit: (caller, role, cut) => clients.admit(caller, role, cut),
    audit,
    metrics: requests,
    keptAnswers,
    publications,
    context: (caller, details, deliveries) => ({
      ...valid,
      caller,
      keys,
      token,
      revocations: published.revocations,
      sessions,
      threads,
      transfers,
      stagedNames,
      deliveries,
      audit: details,
      deliver: otpDelivery(valid, caller),
      levels: tenantLevels(services, valid.config, caller),
    }),
  });
  const messenger = { store, log, threads, metrics: messageMetrics(metrics.registry) };
  let messages = new Messenger(config.messages, messenger);
  const identity = { store, log, parseJson: parseTokenJson };
  let identityProviders = new IdentityProviders(config.identityProviders, identity);
  let current = apiOptions({ config, authorities, messages, identityProviders, services: published.levels(config, authorities) });
  const api = createApi(current, () => current);
  processMetrics(metrics.registry);
  auditMetrics(metrics.registry, () => audit.status);
  authorityMetrics(
    metrics.registry,
    () => new Map([...validAuthorities].map(([name, { certificate }]) => [name, certificate.notAfter.getTime()])),
  );
  const health = {
    ready: async () =>
      readinessFaults({
        isStopping: () => draining.begun,
        signer: () => [...validAuthorities.values()][0],
        tokenFault: () => token.hostFault,
        store,
        auditWritable: () => audit.status.writable,
        listenerFaults: () => apiListener.tls.faults(),
      }),
    warnings: () => ({ ...apiListener.tls.warnings(), ...published.timeStampAuthority.warnings() }),
  };
  const apiListener = createApiListener(config.listeners.api, limitsWithUploads(config), api, {
    log,
    audit,
    malformed: guard.malformed,
    refused: (code) => refusedClients.refused(code),
    isRegistered: (spki) => clients.knows(spki),
  });
  const refusedClients = listenerMetrics(metrics.registry, {
    connections: async () => apiListener.connections(),
    unadmittedConnections: () => apiListener.unadmittedConnections(),
    certificateEndsMs: () => apiListener.tls.certificateEndsMs,
    revocationListEndsMs: () => apiListener.tls.revocationListEndsMs,
  });
  const apiServer = apiListener.server;
  const operationsServer = createOperationsServer(health, metrics, config.listeners.operations);
  const publicServer = published.server(config);
  const reloader = new Reloader({
    path: configPath,
    initial: config,
    participants: [
      { prepare: (next) => apiListener.tls.prepare(next.listeners.api) },
      // Before the next one, which tells the OCSP responders of its certificates.
      published.timeStampAuthority,
      {
        prepare: async (next) => {
          const opened = await openAuthorities(recordedToken, next.certificateAuthorities);
          checkProfiles(next.tenants, opened);
          const nextMessages = new Messenger(next.messages, messenger);
          const nextProviders = new IdentityProviders(next.identityProviders, identity, identityProviders);
          const services = published.levels(next, opened);
          return () => {
            keys.destruction.keep(keysOf(next));
            validAuthorities = opened;
            published.use(opened, next);
            validConfig = next;
            guard.use(next.limits);
            messages = nextMessages;
            identityProviders = nextProviders;
            current = apiOptions({ config: next, authorities: opened, messages, identityProviders, services });
          };
        },
      },
      {
        prepare: (next) => () => {
          log.setLevel(next.log.level);
        },
      },
    ],
    announce: (state) => {
      log.debug(`configuration: ${state}`);
      if (state === 'reloading') manager.reloading('reading the configuration anew');
      else manager.ready(servingStatus(reloader));
    },
  });
  const administration: AdminContext = {
    ...{ store, registry: clients, keys, audit, log, reloader, health, configPath, startedAt, token },
    config: () => reloader.config,
  };
  const adminSocket = await AdminSocket.open(config.admin, log, async (request, uid) => runCommand(administration, request, uid));
  const servers = [apiServer, operationsServer, ...(publicServer === undefined ? [] : [publicServer])];
  const draining = new Draining(servers);
  const vitalSigns = [
    { name: 'database thread', check: async () => store.answer() },
    { name: 'token client', check: token.checkSupervised.bind(token) },
  ];
  const watchdog = new Watchdog(manager, vitalSigns, (name, reason) => {
    log.error('a part of the service is dead', { name, reason });
  });
  const stop = async (): Promise<void> =>
    stopService({
      ...{ log, manager, watchdog, draining },
      drainSeconds: () => reloader.config.limits.drainSeconds,
      endAdministration: async () => adminSocket.close(),
      closings: [
        async () => published.stop(),
        () => {
          apiListener.refusals.stop();
          keys.stopPool();
          keys.destruction.stopSweeping();
          keptAnswers.stop();
          sessions.stop();
          messages.close();
        },
        async () => publications.stop(),
        async () => transfers?.stop(),
        async () => audit.stop(),
        async () => threads.stop(),
        async () => token.stop(),
        async () => store.close(),
      ],
    });
  // Before anybody can connect: from then on a stop has something to lose.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop());
  await listen(apiServer, config.listeners.api, sockets.get('api'));
  await listen(operationsServer, config.listeners.operations, sockets.get('operations'));
  if (publicServer !== undefined && config.listeners.public !== undefined)
    await listen(publicServer, config.listeners.public, sockets.get('public'));
  answerHangUps(() => void reloadBySignal(administration));
  log.info('ready', {
    api: addressOf(apiServer),
    operations: addressOf(operationsServer),
    public: publicServer === undefined ? undefined : addressOf(publicServer),
  });
  watchdog.start();
  manager.ready(servingStatus(reloader));
}

function servingStatus({ last }: Reloader): string {
  const faults = last?.faults ?? [];
  return faults.length === 0 ? 'serving' : `serving; the last reload failed: ${faults.join('; ')}`;
}

const { config: configPath } = programArguments('signetd', {});
// State, sockets and logs are for this user alone.
process.umask(0o077);
try {
  const config = loadConfig(configPath);
  const log = createLog(config.log.level);
  process.on('unhandledRejection', (error) => {
    log.error('a promise was not waited for', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  });
  await run(config, configPath, log);
} catch (error) {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`signetd cannot start: ${text}\n`);
  process.exit(error instanceof HostRefusedError ? error.exitCode : error instanceof ConfigError ? 78 : 1);
}
