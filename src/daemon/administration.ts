import { randomUUID } from 'node:crypto';
import { AdminSocket, admittedGroup, type RunCommand } from '../admin/admin-socket.ts';
import { runApprovalCommand } from '../admin/approval-commands.ts';
import { Approvals, type ApprovalOptions } from '../admin/approvals.ts';
import type { Audit } from '../audit/audit.ts';
import type { AdminConfig } from '../config/listeners-config.ts';
import { native } from '../service/native.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Parts } from './parts.ts';

/**
 * Holds back SIGHUP from now on: one that comes during the start is answered after it. Returns what
 * begins the answering.
 */
export function heldHangUps(): (reload: () => void) => void {
  const started = Promise.withResolvers<() => void>();
  process.on('SIGHUP', () => {
    void started.promise.then((reload) => {
      reload();
    });
  });
  return started.resolve;
}

/** Sockets of signetctl. */
export interface Administration {
  /** Accepts no further command; what waits for an approval ends. */
  close(): Promise<void>;
}

/**
 * Opens the socket of signetctl, and that for approvals.
 * @param approvals with `admin.approvals: 2`
 * @throws {Error} where another service listens there, or nobody can
 */
export async function openAdministration(
  config: AdminConfig,
  {
    log,
    parts,
    run,
    approvals,
  }: { readonly log: Logger; readonly parts: Parts; readonly run: RunCommand; readonly approvals: Approvals | undefined },
): Promise<Administration> {
  const sockets = [await AdminSocket.open(config, log, run)];
  const close = async (): Promise<void> => {
    approvals?.stop();
    await Promise.all(sockets.map(async (socket) => socket.close()));
  };
  parts.opened('admin socket', sockets, close);
  if (approvals !== undefined) {
    const access = { ...approversAccess(config), socketPath: config.approvalSocketPath };
    sockets.push(await AdminSocket.open(access, log, async (request, uid) => runApprovalCommand({ approvals, log }, request, uid)));
  }
  return { close };
}

/**
 * Returns the group whose members approve.
 * @throws {Error} if the machine has no such group, or its members give the commands too
 */
export function approversGroup(config: AdminConfig): number | undefined {
  const group = admittedGroup(approversAccess(config), 'admin.approvers');
  if (group !== undefined && config.access === 'group' && group === admittedGroup(config))
    throw new Error('admin.approvers: must be another group than admin.group');
  return group;
}

/**
 * Returns the approvals of the service; undefined if no command needs one.
 * @throws {Error} as `approversGroup`
 */
export function openApprovals(config: AdminConfig, record: ApprovalOptions['record']): Approvals | undefined {
  if (config.approvals === 1) return undefined;
  const group = approversGroup(config);
  return new Approvals({
    minutes: config.approvalMinutes,
    approvers: String(config.approvers),
    mayApprove: async (uid) => uid !== process.getuid?.() && (await native().groupsOf(uid))?.includes(group ?? -1) === true,
    record,
  });
}

/** Writes what happens to a request for an approval into the audit log. */
export function recordedIn(audit: Audit): ApprovalOptions['record'] {
  return async (entry) => audit.administer(entry, async () => Promise.resolve({ value: undefined }));
}

/**
 * While nothing can be recorded, the service's log has what happens to a request for an approval.
 */
export function loggedIn(log: Logger): ApprovalOptions['record'] {
  return async ({ command, uid, approval }) => {
    log.warn('approval', { request: randomUUID(), step: command, uid, ...approval });
    return Promise.resolve();
  };
}

function approversAccess({ approvers }: AdminConfig): {
  access: 'group';
  group: AdminConfig['approvers'];
  members: { path: string; group: string };
} {
  return { access: 'group', group: approvers, members: { path: 'admin.approvalSocketPath', group: 'admin.approvers' } };
}
