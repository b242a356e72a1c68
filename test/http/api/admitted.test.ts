import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Caller } from '../../../src/clients/caller.ts';
import { tenantId } from '../../../src/clients/caller.ts';
import { Admission as ClientAdmission } from '../../../src/clients/admission.ts';
import { admitted } from '../../../src/http/api/admitted.ts';
import { Guard } from '../../../src/http/api/guard.ts';
import { Problem } from '../../../src/http/problem.ts';
import { reach } from '../../../src/http/api/reach.ts';
import { RequestIdentity } from '../../../src/telemetry/current-request.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';
import { limitsInForce } from '../../support/limits.ts';

const caller: Caller = { spkiSha256: 'a', name: 'app', tenant: tenantId('demo'), roles: new Set(['signature']) };
const registrations = {
  isAlwaysCurrent: true,
  upToDate: async () => Promise.resolve(),
  holds: () => true,
  entered: () => undefined,
  left: () => undefined,
};

/** A service that takes one request at a time of each client; `work` carries it out. Answers its port, and whether it takes another one. */
async function service(
  found: () => Promise<Caller | undefined>,
  work: (response: ServerResponse) => Promise<void>,
  identity = new RequestIdentity({}),
) {
  const guard = new Guard(
    () => limitsInForce({ requestsMaxPerClient: 1 }),
    new WorkThreads(),
    () => 'client',
    { registered: () => undefined },
  );
  const gate = {
    ...{ guard, audit: { refuseClient: () => undefined }, draining: { refusing: false }, callerAtOnce: () => undefined, callerOf: found },
    admit: (one: Caller, role: 'signature', cut: () => void) => new ClientAdmission(registrations, one, role, cut),
  };
  const reached = Promise.withResolvers<ServerResponse>();
  const over = Promise.withResolvers<unknown>();
  const server = createServer((request, response) => {
    reached.resolve(response);
    reach({ role: 'signature' }, { ...gate, admit: (one, _role, cut) => gate.admit(one, 'signature', cut) }, request, response)
      .then(async (ticket) => admitted({ ...ticket, identity }, response, async () => work(response)))
      .then(over.resolve, over.resolve);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const takesAnother = (): boolean => {
    try {
      guard.quota.admit('client').release();
      return true;
    } catch (error) {
      if (error instanceof Problem) return false;
      throw error;
    }
  };
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n');
  const leave = async (): Promise<void> => {
    const response = await reached.promise;
    client.destroy();
    await once(response, 'close');
  };
  return { takesAnother, leave, over: over.promise, close: () => server.close() };
}

describe('the place of a request', () => {
  test('is held while its work continues, even if its client has gone', async () => {
    const work = Promise.withResolvers<void>();
    const { takesAnother, leave, over, close } = await service(
      async () => Promise.resolve(caller),
      async () => work.promise,
    );
    await leave();
    expect(takesAnother()).toBe(false);
    work.resolve();
    await over;
    expect(takesAnother()).toBe(true);
    close();
  });

  test('is free again if the client disconnects before it is identified and refused', async () => {
    const look = Promise.withResolvers<undefined>();
    const { takesAnother, leave, over, close } = await service(
      async () => look.promise,
      async () => Promise.resolve(),
    );
    await leave();
    look.resolve(undefined);
    expect(await over).toBeInstanceOf(Problem);
    expect(takesAnother()).toBe(true);
    close();
  });

  test('ends work that stops when its client is gone', async () => {
    const identity = new RequestIdentity({});
    const work = async (): Promise<void> => {
      await once(identity.gone, 'abort');
    };
    const { takesAnother, leave, over, close } = await service(async () => Promise.resolve(caller), work, identity);
    await leave();
    await over;
    expect(takesAnother()).toBe(true);
    close();
  });

  test('tells nobody that a client is gone which has its answer', async () => {
    const identity = new RequestIdentity({});
    const answered = async (response: ServerResponse): Promise<void> => {
      response.end('done');
      await once(response, 'close');
    };
    const { over, close } = await service(async () => Promise.resolve(caller), answered, identity);
    await over;
    expect(identity.gone.aborted).toBe(false);
    close();
  });
});
