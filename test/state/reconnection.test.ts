import { expect, it } from 'vitest';
import { Reconnection, type Connection } from '../../src/state/postgresql/link.ts';

const connection = {} as Connection;

it('waits after an attempt that failed, but not after one that began before another succeeded', async () => {
  const reconnection = new Reconnection();
  const early = Promise.withResolvers<Connection>();
  const failing = reconnection.make(async () => early.promise);
  expect(await reconnection.make(async () => Promise.resolve(connection))).toBe(connection);
  early.reject(new Error('write EPIPE'));
  await expect(failing).rejects.toThrow('write EPIPE');
  expect(await reconnection.make(async () => Promise.resolve(connection))).toBe(connection);

  const refused = async (): Promise<Connection> => Promise.reject(new Error('connection refused'));
  await expect(reconnection.make(refused)).rejects.toThrow('connection refused');
  await expect(reconnection.make(async () => Promise.resolve(connection))).rejects.toThrow('connection refused');
});
