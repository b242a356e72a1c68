import { ClientRegistry } from '../../src/clients/registry.ts';
import { randomUUID } from 'node:crypto';
import { cpSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { parse, stringify } from 'yaml';
import { AuditedRequest } from '../../src/audit/audited-request.ts';
import { openAudit } from '../../src/audit/open-audit.ts';
import { recordingToken, recordingUses } from '../../src/audit/use-recorder.ts';
import { openAuthorities } from '../../src/certificates/configured-authorities.ts';
import { IdentityProviders } from '../../src/certificates/jwt/identity-providers.ts';
import { roles, tenantId, type Caller } from '../../src/clients/caller.ts';
import { loadConfig } from '../../src/config/config.ts';
import { keyOptions, macKeyOptions } from '../../src/daemon/key-options.ts';
import { tenantLevels } from '../../src/daemon/level-services.ts';
import { openDocuments } from '../../src/daemon/open-documents.ts';
import { Parts } from '../../src/daemon/parts.ts';
import { PublishedServices } from '../../src/daemon/published-services.ts';
import type { TransferStore } from '../../src/documents/transfer/transfer-store.ts';
import { RequestRuns } from '../../src/http/api/request-runs.ts';
import { parseTokenJson } from '../../src/http/json/strict-json.ts';
import { AnswerKeys } from '../../src/idempotency/answer-keys.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { establishMacKey } from '../../src/keys/mac-key.ts';
import { Messenger } from '../../src/messages/messenger.ts';
import type { Context, Operation } from '../../src/operations/operation.ts';
import { Refusal } from '../../src/result-codes.ts';
import { Sessions } from '../../src/signatures/sessions/sessions.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { messageMetrics } from '../../src/telemetry/outgoing-metrics.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import type { Token } from '../../src/token/token.ts';
import { DigitalIdentities } from '../../src/twoddoc/identities/digital-identities.ts';
import { recordingLog } from './silent-log.ts';

/** Files of a quickstart that name its directory. */
const filesOfPlace = ['signetd.yaml', 'token/softhsm2.conf'];

/** Copies a stopped quickstart, with its token and its state, for a service in this process. */
export function copyOfQuickstart(from: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-here-'));
  cpSync(from, directory, { recursive: true, filter: (path) => !lstatSync(path).isSocket() });
  for (const name of filesOfPlace) {
    const path = join(directory, name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(from, directory));
  }
  const configPath = join(directory, 'signetd.yaml');
  const config = parse(readFileSync(configPath, 'utf8')) as { token: object; keyPool?: object };
  const token = { ...config.token, threads: 1, socketPath: join(directory, 'host.sock') };
  writeFileSync(configPath, stringify({ ...config, token, keyPool: { keys: 0 } }), { mode: 0o600 });
  return directory;
}

/** How a request ended: the answer, or the refusal, or the message of another error. */
export type Ended =
  | { readonly answer: object; readonly notices: readonly string[] }
  | { readonly refusal: { readonly code: string; readonly at: string | undefined; readonly text: string } }
  | { readonly error: string };

/** The end of a request, with what its audit record says of it. */
export interface Told {
  readonly ended: Ended;
  readonly audited: Pick<AuditedRequest, 'key' | 'digests' | 'tampered' | 'effects'> & { readonly uses: readonly string[] | undefined };
}

export interface ServiceOptions {
  /** Returns the state store that the service uses in place of this one. */
  readonly storeAround?: (store: StateStore) => StateStore;
  /** Returns the token that the service's keys use in place of this one, which records its uses. */
  readonly tokenAround?: (token: Token) => Token;
}

type MakeContext = (caller: Caller, audit: AuditedRequest, run: Pick<Context, 'deliveries' | 'notices'>) => Context;

/** All that requests of a quickstart's copy use, in this process: its operations are called without HTTP. */
export class ServiceHere {
  readonly directory: string;
  readonly store: StateStore;
  readonly keys: Keyring;
  readonly #transfers: TransferStore | undefined;
  readonly #context: MakeContext;
  readonly #runs: (request: string) => RequestRuns;
  readonly #end: () => Promise<void>;

  private constructor(
    directory: string,
    { store, keys }: Pick<ServiceHere, 'store' | 'keys'>,
    parts: { transfers: TransferStore | undefined; context: MakeContext; runs: (request: string) => RequestRuns; end: () => Promise<void> },
  ) {
    this.directory = directory;
    this.store = store;
    this.keys = keys;
    this.#transfers = parts.transfers;
    this.#context = parts.context;
    this.#runs = parts.runs;
    this.#end = parts.end;
  }

  static async open(
    directory: string,
    { storeAround = (same) => same, tokenAround = (same) => same }: ServiceOptions = {},
  ): Promise<ServiceHere> {
    const configPath = join(directory, 'signetd.yaml');
    const config = loadConfig(configPath);
    const log = recordingLog();
    const parts = new Parts();
    const [metrics, registry] = [new Metrics(), new Registry()];
    const opened = parts.opened('state store', await openStateStore(config.state, log), async (one) => one.close());
    const store = storeAround(opened);
    const token = new TokenClient(config.token, configPath, log);
    parts.opened('token', token, async (one) => one.stop());
    await token.start();
    await establishMacKey(store, token, macKeyOptions(config, log));
    const ownToken = tokenAround(recordingToken(token, () => undefined));
    const authorities = await openAuthorities(ownToken, config.certificateAuthorities);
    const threads = parts.opened('work threads', new WorkThreads(), async (one) => one.stop());
    const keys = new Keyring(store, ownToken, { ...keyOptions(config), log, threads });
    await keys.recover();
    const audit = parts.opened('audit log', await openAudit(config.audit, { store, token, log }), async (one) => one.stop());
    const sessions = new Sessions(store, await AnswerKeys.open(store, token, log));
    parts.opened('sessions', sessions, (one) => {
      one.stop();
    });
    const forPublishing = { store, token, clients: new ClientRegistry(store), undoing: keys.destruction, audit, registry, log };
    const published = await PublishedServices.open(forPublishing, config, { authorities, ofClients: new Map() });
    parts.opened('published services', published, async (one) => one.stop());
    const { publications, ...documents } = await openDocuments({ parts, store, threads, audit, metrics, log }, config, () => config);
    const messages = new Messenger(config.messages, { store, log, threads, metrics: messageMetrics(registry) });
    parts.opened('messages', messages, (one) => {
      one.close();
    });
    const identityProviders = new IdentityProviders(config.identityProviders, { store, log, parseJson: parseTokenJson });
    const levels = published.levels(config, authorities, threads);
    const lasting = {
      ...{ config, keys, token: ownToken, messages, authorities, identityProviders, sessions, threads },
      ...documents,
      identities: new DigitalIdentities(config.tenants, keys),
      revocations: published.revocations,
    };
    const context: MakeContext = (caller, details, run) => ({
      ...lasting,
      ...{ caller, audit: details, ...run },
      levels: tenantLevels(levels, config, caller),
    });
    const runs = (request: string): RequestRuns => new RequestRuns(publications, request);
    return new ServiceHere(
      directory,
      { store, keys },
      { transfers: documents.transfers, context, runs, end: async () => void (await parts.close(log)) },
    );
  }

  /** Has an operation handle a request of a tenant, and publishes what it delivers. */
  async ask(tenant: string, { path, handle }: Pick<Operation, 'path' | 'handle'>, body: Readonly<Record<string, unknown>>): Promise<Told> {
    const { caller, audited } = requestOf(tenant, path);
    const runs = this.#runs(audited.requester.request);
    const ended = await this.#ended(runs, async (run) =>
      recordingUses(audited, async () => handle(body, this.#context(caller, audited, run))),
    );
    const { key, digests, tampered, effects } = audited;
    return { ended, audited: { key, digests, tampered, effects, uses: audited.uses.soFar() } };
  }

  async #ended(runs: RequestRuns, work: (run: Pick<Context, 'deliveries' | 'notices'>) => Promise<object>): Promise<Ended> {
    try {
      const notices: string[] = [];
      const answer = await runs.run(async (run) => {
        const made = await work(run);
        notices.push(...run.notices);
        return made;
      });
      const published = await runs.publish({ result: runs.success, answer, echo: {} });
      return { answer: published.answer, notices };
    } catch (error) {
      if (error instanceof Refusal) return { refusal: { code: error.code, at: error.at, text: error.text } };
      return { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
    } finally {
      await runs.end({ outlivesAnswer: false }, recordingLog());
    }
  }

  /** Runs a part of an operation for a request of a tenant. Nothing that it delivers is published. */
  async within(tenant: string, work: (context: Context) => Promise<object>): Promise<void> {
    const { caller, audited } = requestOf(tenant, 'none');
    const runs = this.#runs(audited.requester.request);
    try {
      await runs.run(async (run) => work(this.#context(caller, audited, run)));
    } finally {
      await runs.end({ outlivesAnswer: false }, recordingLog());
    }
  }

  /** Returns the content of a file of a tenant's transfer store in base64, or nothing if there is no such file. */
  async transferred(tenant: string, fileID: string): Promise<string> {
    const opened = await this.#transfers?.openFile(tenantId(tenant), fileID);
    if (opened === undefined) return '';
    try {
      return await opened.handle.readFile('base64');
    } finally {
      await opened.handle.close();
    }
  }

  /** Stops the service; its files stay. */
  async end(): Promise<void> {
    await this.#end();
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function requestOf(tenant: string, operation: string): { readonly caller: Caller; readonly audited: AuditedRequest } {
  const caller: Caller = { spkiSha256: '0'.repeat(64), name: 'here', tenant: tenantId(tenant), roles: new Set(roles) };
  const requester = { request: randomUUID(), client: caller.name, tenant, spki: '0', address: undefined, operation };
  return { caller, audited: new AuditedRequest('here', requester) };
}
