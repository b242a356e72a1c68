import { AdminSocket } from '../admin/admin-socket.ts';
import { runCommand, type AdminContext } from '../admin/commands.ts';
import type { AdminConfig } from '../config/listeners-config.ts';
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

/**
 * Opens the socket of signetctl.
 * @throws {Error} where another service listens there, or nobody can
 */
export async function openAdministration(config: AdminConfig, context: AdminContext, parts: Parts): Promise<AdminSocket> {
  const socket = await AdminSocket.open(config, context.log, async (request, uid) => runCommand(context, request, uid));
  return parts.opened('admin socket', socket, async () => socket.close());
}
