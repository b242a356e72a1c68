import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noAudit } from '../../../src/audit/audit.ts';
import { ClientRegistry, registerClient } from '../../../src/clients/registry.ts';
import { Config } from '../../../src/config/config.ts';
import { MalformedRequests } from '../../../src/http/limits/malformed.ts';
import { callerOf, createApiListener } from '../../../src/http/tls/mtls-listener.ts';
import { openSqliteStore } from '../../../src/state/threaded-store.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { OpenConnection } from './open-connection.ts';
import { authority, serverCertificate } from './scratch-listener.ts';

it('a registration counts from the next request on, on connections that are open', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-registration-'));
  const store = await openSqliteStore(join(directory, 'state.sqlite'));
  const clients = new ClientRegistry(store);
  await clients.load();
  const config = Config.shape.listeners.shape.api.parse({ ...serverCertificate(), clientCertificateAuthority: authority.certificate });
  const { server, refusals } = createApiListener(
    config,
    Config.shape.limits.parse({}),
    (request, response) => {
      void callerOf(request, clients).then((caller) => {
        const { name = 'nobody', tenant = '', roles = new Set() } = caller ?? {};
        response.end(`${name} ${tenant} ${[...roles].join()} served`);
      });
    },
    { log: recordingLog(), malformed: new MalformedRequests(), audit: noAudit, registered: (spki) => clients.remembered(spki) },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const files = authority.issue('client');
  const certificate = new X509Certificate(readFileSync(files.certificate));
  const connection = await OpenConnection.open((server.address() as AddressInfo).port, files);
  expect(await connection.send()).toContain('nobody');
  await registerClient(store, { name: 'client', tenant: 'demo', roles: ['keys', 'files'], certificate });
  await clients.load();
  expect(await connection.send()).toContain('client demo keys,files');
  await registerClient(store, { name: 'client', tenant: 'demo', roles: [], certificate });
  await clients.load();
  expect(await connection.send()).toContain('client demo  served');
  connection.close();
  refusals.stop();
  server.close();
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});
