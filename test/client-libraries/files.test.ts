import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { SignetdClient, SignetdError } from '../../clients/typescript/src/index.ts';
import { description } from '../support/api.ts';

const content = randomBytes(20_000_000);
const digest = createHash('sha256').update(content).digest('hex');

function credentialsOf(name: string): { certificate: string; key: string } {
  return description.clients[name] ?? { certificate: '', key: '' };
}

function clientOf(name: string): SignetdClient {
  const { certificate, key } = credentialsOf(name);
  const [certificateAuthority, cert, secret] = [description.caCertificate, certificate, key].map((file) => readFileSync(file, 'utf8'));
  return new SignetdClient({
    baseUrl: description.baseUrl,
    certificateAuthority: certificateAuthority ?? '',
    certificate: cert ?? '',
    key: secret ?? '',
  });
}

/** 20 MB in parts, of unknown length. */
function parts(): Readable {
  return Readable.from(Array.from({ length: 20 }, (_, index) => content.subarray(index * 1_000_000, (index + 1) * 1_000_000)));
}

it('the TypeScript client sends and fetches files as streams, with their names', async () => {
  const client = clientOf('app');
  const stored = await client.files.upload(parts(), { mediaType: 'text/x-test', fileName: 'reçu 1.bin' });
  const download = await client.files.download(stored.fileID);
  const { sizeBytes, mediaType, fileName } = download;
  expect({ sizeBytes, mediaType, fileName }).toEqual({ sizeBytes: content.length, mediaType: 'text/x-test', fileName: 'reçu 1.bin' });
  expect(
    createHash('sha256')
      .update(await buffer(download.content))
      .digest('hex'),
  ).toBe(digest);
  await client.files.delete(stored.fileID);
  await expect(client.files.download(stored.fileID)).rejects.toMatchObject({ outcome: 'HTTP_404' });
  client.close();
});

it('the TypeScript client reports why a file was refused before all of it was sent', async () => {
  const client = clientOf('signer');
  const refused: unknown = await client.files.upload(parts()).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(SignetdError);
  expect(refused).toMatchObject({ outcome: 'HTTP_403', status: 403, requestId: expect.any(String) as string });
  client.close();
});

const program = `
import hashlib, sys
from pathlib import Path
from signetd_client import SignetdClient, SignetdError
address, authority, certificate, key, path = sys.argv[1:]

def parts():
    with open(path, "rb") as file:
        while part := file.read(1_000_000):
            yield part

with SignetdClient(address, certificate_authority=authority, certificate=certificate, key=key) as client:
    for content in (Path(path), Path(path).read_bytes(), parts()):
        try:
            stored = client.files.upload(content, media_type="text/x-test", file_name="reçu 1.bin")
        except SignetdError as error:
            print(error.outcome, error.request_id is not None)
            continue
        with client.files.download(stored["fileID"]) as download:
            digest = hashlib.sha256()
            for part in download:
                digest.update(part)
            print(digest.hexdigest(), download.size_bytes, download.media_type, download.file_name)
        client.files.delete(stored["fileID"])
        try:
            client.files.download(stored["fileID"])
        except SignetdError as error:
            print(error.outcome)
`;

async function inPython(name: string): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-client-'));
  try {
    const file = join(directory, 'content');
    writeFileSync(file, content);
    const { certificate, key } = credentialsOf(name);
    const environment = { ...process.env, PYTHONPATH: resolve('clients/python/src'), PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1' };
    const args = ['-c', program, description.baseUrl, description.caCertificate, certificate, key, file];
    return (await promisify(execFile)('python3', args, { env: environment })).stdout.trimEnd().split('\n');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

it('the Python client sends files, bytes and streams, and fetches them in parts, with their names', async () => {
  const each = [`${digest} ${content.length} text/x-test reçu 1.bin`, 'HTTP_404'];
  expect(await inPython('app')).toEqual([...each, ...each, ...each]);
});

it('the Python client reports why a file was refused before all of it was sent', async () => {
  expect(await inPython('signer')).toEqual(Array.from({ length: 3 }, () => 'HTTP_403 True'));
});
