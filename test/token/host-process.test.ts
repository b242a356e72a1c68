import { afterEach, expect, it, vi } from 'vitest';
import { HostProcess } from '../../src/token/client/host-process.ts';
import { scratchToken } from '../support/scratch-token.ts';

const { execPath } = process;

afterEach(() => {
  process.execPath = execPath;
});

it('a host that cannot be started has failed, in the words of the system', async () => {
  const scratch = scratchToken();
  const exited: unknown[] = [];
  process.execPath = '/nonexistent/node';
  new HostProcess().start({ ...scratch.config, servesOperator: false }, scratch.configPath, {
    said: () => undefined,
    exited: (reason, how) => exited.push([reason, how]),
  });
  await vi.waitUntil(() => exited.length > 0, { timeout: 10_000 });
  expect(exited[0]).toEqual(['spawn /nonexistent/node ENOENT', 'failed']);
  scratch.remove();
});
