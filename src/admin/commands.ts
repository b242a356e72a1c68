import { randomUUID } from 'node:crypto';
import type { AdministrationEntry } from '../audit/record.ts';
import { compareState } from '../audit/compare-state.ts';
import { LimitsInForce } from '../config/limits-in-force.ts';
import type { Logger } from '../telemetry/log.ts';
import { answered } from './answered.ts';
import type { WaitingPeer } from './approvals.ts';
import { certificateOf, type ApprovedCommands } from './approved-commands.ts';
import { addClient, clientView, reloadClients, revokeClient, revokedClientView, type ClientCommands } from './client-commands.ts';
import { removeKey, unlockKey, type KeyCommands } from './key-commands.ts';
import { listIdentities, removeIdentity, unlockIdentity, type IdentityCommands } from './identity-commands.ts';
import { destroyFormerMac, macView, rotateMac, type MacCommands } from './mac-commands.ts';
import { answersView, rotateAnswers, type AnswersCommands } from './answers-commands.ts';
import { pruneAudit, rotateAuditKey } from './audit-commands.ts';
import { findKeyView, keyPage, poolView } from './key-view.ts';
import { type AdminAnswer, type AdminRequest, CommandRefused, type Done } from './protocol.ts';
import { reloadConfiguration } from './reload.ts';
import type { ConsoleLinkView } from './views.ts';
import { comparisonView } from './state-commands.ts';
import { statusView, type StatusSources } from './status.ts';
import type { BackupView } from './views.ts';

export interface AdminContext extends ClientCommands, KeyCommands, IdentityCommands, MacCommands, AnswersCommands, StatusSources {
  readonly audit: StatusSources['audit'];
  readonly keys: KeyCommands['keys'];
  readonly token: IdentityCommands['token'] & StatusSources['token'] & MacCommands['token'];
  readonly log: Logger;
  readonly console: ConsoleLinks;
  /** With `admin.approvals: 2`. */
  readonly approved?: ApprovedCommands | undefined;
}

/** Signs operators in to the console. */
export interface ConsoleLinks {
  /** @throws {CommandRefused} if the configuration switches the console off */
  link(uid: number): ConsoleLinkView;
}

/**
 * Executes a command of a local user and always answers it, once it is approved if it must be.
 * `via`: how the command came, unless by the admin socket. `peer`: the connection, for a command
 * that waits.
 */
export async function runCommand(
  context: AdminContext,
  request: AdminRequest,
  uid: number,
  { via, peer }: { readonly via?: 'console'; readonly peer?: WaitingPeer } = {},
): Promise<AdminAnswer> {
  const entry: AdministrationEntry = { kind: 'administration', request: randomUUID(), uid, via, command: request.command };
  return answered(request.command, context.log, async () => {
    const approval = await context.approved?.approved(request, uid, peer ?? noPeer);
    return carryOut(context, request, approval === undefined ? entry : { ...entry, approval });
  });
}

/** Of a command that came without a connection that could wait: the console has none that must. */
const noPeer: WaitingPeer = { gone: AbortSignal.abort(), tell: () => undefined };

async function carryOut(context: AdminContext, request: AdminRequest, entry: AdministrationEntry): Promise<Done> {
  switch (request.command) {
    case 'client add':
      return addClient(context, request, entry);
    case 'client revoke':
      return revokeClient(context, request, entry);
    case 'client reload':
      return reloadClients(context, entry);
    case 'reload':
      return reloadConfiguration(context, entry);
    case 'client list':
      return looked(context, entry, async () => {
        const limits = new LimitsInForce(context.config());
        return (await context.store.run('listClients')).map((row) => clientView(row, limits));
      });
    case 'client list revoked':
      return looked(context, entry, async () => (await context.store.run('listRevokedClients')).map(revokedClientView));
    case 'key list':
      return looked(context, entry, async () => keyPage(context.store, request));
    case 'key show':
      return looked(context, { ...entry, key: request.reference }, async () => findKeyView(context.store, request.reference));
    case 'key unlock':
      return unlockKey(context, request, entry);
    case 'key remove':
      return removeKey(context, request, entry);
    case 'mac status':
      return looked(context, entry, async () => macView(context));
    case 'mac rotate':
      return rotateMac(context, entry);
    case 'mac destroy':
      return destroyFormerMac(context, request, entry);
    case 'answers status':
      return looked(context, entry, async () => answersView(context));
    case 'answers rotate':
      return rotateAnswers(context, entry);
    case 'audit rotate-key':
      return rotateAuditKey(context, entry);
    case 'pool list':
      return looked(context, entry, async () => poolView(context.store));
    case 'identity list':
      return looked(context, entry, async () => listIdentities(context));
    case 'identity unlock':
      return unlockIdentity(context, request, entry);
    case 'identity remove':
      return removeIdentity(context, request, entry);
    case 'state compare':
      return looked(context, entry, async () => comparisonView(context.store, await compareState(context.store, context.config().audit)));
    case 'state confirm':
      return context.audit.administer(entry, async () => {
        // The store's age is checked before anything is served; from then on the store keeps up
        // with the log.
        throw new CommandRefused('the state store is not older than the audit log: there is nothing to confirm');
      });
    case 'clock confirm':
      return context.audit.administer(entry, async () => {
        throw new CommandRefused('signetd does not wait for its clock: there is nothing to confirm');
      });
    case 'backup create':
      // Its own record is before the checkpoint, so that the backup contains it.
      await context.audit.administer(entry, async () => Promise.resolve({ value: undefined }));
      return { result: { point: (await context.audit.backupPoint()) ?? null } satisfies BackupView };
    case 'backup end':
      return looked(context, { ...entry, digests: [`sha256:${request.sha256}`] }, async () => Promise.resolve(null));
    case 'record use': {
      const { by, use } = request;
      return looked(context, { ...entry, command: by, uses: [use], certificate: certificateOf(request) }, async () =>
        Promise.resolve(null),
      );
    }
    case 'record purpose': {
      const { by, keyId, purpose } = request;
      return looked(context, { ...entry, command: by, purpose: { keyId, purpose } }, async () => Promise.resolve(null));
    }
    case 'record command':
      return looked(context, { ...entry, command: request.by }, async () => Promise.resolve(null));
    case 'approvals':
    case 'approve':
    case 'refuse':
      throw new CommandRefused('approvals have a socket of their own (admin.approvalSocketPath), with admin.approvals: 2');
    case 'console':
      return looked(context, entry, async () => Promise.resolve(context.console.link(entry.uid ?? 0)));
    case 'audit prune':
      return pruneAudit(context, request, entry);
    // Monitoring polls it, and it must answer even if nothing can be recorded.
    case 'status':
      return { result: await statusView(context) };
  }
}

async function looked(context: AdminContext, entry: AdministrationEntry, look: () => Promise<unknown>): Promise<Done> {
  return context.audit.administer(entry, async () => ({ value: { result: await look() } }));
}
