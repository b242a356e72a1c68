import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { OwnService } from '../../support/own-service.ts';

const mebibyte = 1024 * 1024;
const rounds = 20;
let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    const { configFile } = environment.description();
    const Sections = z.looseObject({ limits: z.looseObject({}), transferStore: z.looseObject({}) });
    const { limits, transferStore, ...others } = Sections.parse(parse(readFileSync(configFile, 'utf8')));
    const sizes = { limits: { ...limits, jsonBodyMaxBytes: mebibyte }, transferStore: { ...transferStore, fileMaxBytes: mebibyte } };
    writeFileSync(configFile, stringify({ ...others, ...sizes }));
  });
}, 240_000);
afterAll(async () => {
  await service.remove();
});

/** Sends everything before it reads anything, over a connection of its own each time; says what it reads, or why it cannot. */
const sender = String.raw`
import socket, ssl, sys
host, port, ca, certificate, key, method, path, framing, megabytes, rounds = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
context.check_hostname = False
context.load_cert_chain(certificate, key)
piece = b'{' * 65536
for _ in range(int(rounds)):
    count = int(megabytes) * 16
    length = 'Transfer-Encoding: chunked' if framing == 'chunked' else 'Content-Length: %d' % (count * len(piece))
    head = '%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s\r\n\r\n' % (method, path, length)
    with context.wrap_socket(socket.create_connection((host, int(port)))) as connection:
        try:
            connection.sendall(head.encode())
            for _ in range(count):
                connection.sendall(b'10000\r\n' + piece + b'\r\n' if framing == 'chunked' else piece)
            if framing == 'chunked':
                connection.sendall(b'0\r\n\r\n')
            answer = b''
            while True:
                more = connection.recv(65536)
                if more == b'':
                    break
                answer += more
            print(answer.split(b'\r\n')[0].decode(), flush=True)
        except OSError as error:
            print(type(error).__name__, error, flush=True)
`;

async function sent(
  path: string,
  framing: string,
  {
    megabytes = 4,
    client = 'app',
    times = rounds,
    method = 'POST',
  }: { megabytes?: number; client?: string; times?: number; method?: string } = {},
): Promise<string[]> {
  const { hostname, port } = new URL(service.baseUrl);
  const { caCertificate, clients } = service.description;
  const { certificate = '', key = '' } = clients[client] ?? {};
  const args = [hostname, port, caCertificate, certificate, key, method, path, framing, String(megabytes), String(times)];
  const { stdout } = await promisify(execFile)('python3', ['-c', sender, ...args]);
  return stdout.trim().split('\n');
}

describe('a client that reads only when it has sent everything', () => {
  it.each([
    ['/sign/pki/checkKey', 'chunked'],
    ['/sign/pki/checkKey', 'announced'],
    ['/ftm/files', 'chunked'],
    ['/ftm/files', 'announced'],
  ])(
    'gets the 413 of %s for a body that is too large, %s',
    async (path, framing) => {
      expect(await sent(path, framing)).toEqual(Array.from({ length: rounds }, () => 'HTTP/1.1 413 Payload Too Large'));
    },
    180_000,
  );

  it.each(['chunked', 'announced'])(
    'gets the 403 for a long body that nobody wants, %s',
    async (framing) => {
      expect(await sent('/sign/pki/checkKey', framing, { client: 'unregistered' })).toEqual(
        Array.from({ length: rounds }, () => 'HTTP/1.1 403 Forbidden'),
      );
    },
    180_000,
  );

  it.each<[string, { method?: string; client?: string }]>([
    ['/sign/pki/checkKey', {}],
    ['/sign/pki/checkKey', { client: 'unregistered' }],
    ['/sign/pki/checkKey', { method: 'GET' }],
    ['/sign/pki/nowhere', {}],
    ['/ftm/files', {}],
    ['/ftm/files/none', { method: 'DELETE' }],
    ['/openapi.json', { method: 'GET' }],
    ['/docs', { method: 'PUT' }],
  ])(
    'is cut off if it sends without end to %s %o',
    async (path, how) => {
      for (const framing of ['chunked', 'announced']) {
        const [outcome] = await sent(path, framing, { megabytes: 256, times: 1, ...how });
        expect(outcome).toMatch(/^(?:ConnectionResetError|BrokenPipeError|SSLEOFError)/);
      }
    },
    180_000,
  );
});
