import { Client, type ClientConfig } from 'pg';
import type { PostgresqlConfig } from '../../config/state-config.ts';
import { connectAs } from '../../service/file-owner.ts';
import { native, userNumber } from '../../service/native.ts';
import { clientOptions } from './client-options.ts';

/**
 * Opens a connection. Root connects to a Unix socket as the user of the service, for peer
 * authentication; only while the socket is connected, which the driver does at once.
 * @param options instead of those of the service
 * @throws {Error} if it cannot be opened; nothing is left open then
 */
export async function openClient(config: PostgresqlConfig, options: ClientConfig = {}): Promise<Client> {
  const client = new Client({ ...clientOptions(config), ...options });
  // The next use finds the connection broken; without a listener, the error would end the thread.
  client.on('error', () => undefined);
  try {
    const { serviceUser } = config;
    const connecting = async (): Promise<unknown> => client.connect();
    await (serviceUser === undefined ? connecting() : connectAs(userNumber(serviceUser), connecting));
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    client.connection.stream.destroy();
    throw error;
  }
}

/** Options of a child process that connects as `openClient` does. */
export async function childUser({ serviceUser }: PostgresqlConfig): Promise<{ readonly uid?: number; readonly gid?: number }> {
  if (serviceUser === undefined) return {};
  const uid = userNumber(serviceUser);
  const [gid] = (await native().groupsOf(uid)) ?? [];
  return { uid, gid: gid ?? uid };
}
