import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { quickstartEnvironment } from './support/quickstart-environment.ts';

const Config = z.object({ listeners: z.object({ public: z.object({ port: z.int() }) }) });

it('says why it sets everything up once more, where another program takes the port that certificates contain', async () => {
  const environment = quickstartEnvironment();
  const squatter = createServer();
  try {
    const first = environment.startAside();
    const printed = text(first.stdout);
    const configFile = join(environment.directory, 'signetd.yaml');
    const port = await vi.waitFor(
      () => {
        const { public: listener } = Config.parse(existsSync(configFile) ? parse(readFileSync(configFile, 'utf8')) : {}).listeners;
        expect(listener.port).toBeGreaterThan(0);
        return listener.port;
      },
      { timeout: 60_000, interval: 5 },
    );
    await once(squatter.listen(port, '127.0.0.1'), 'listening');
    expect(await once(first, 'exit')).toEqual([0, null]);
    const account = await printed;
    expect(account).toContain('starting the service … failed\n');
    expect(account).toContain(`Another program took port ${port} while the service was set up.`);
    expect(account.match(/making the TLS certificates/g)).toHaveLength(2);
    expect(account).toContain('CMS Verification successful');
    expect(environment.description().publicUrl).not.toContain(`:${port}`);
  } finally {
    squatter.close();
    environment.remove();
  }
});
