import { createReadStream, readFileSync, statSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import type { Quickstart } from './quickstart-description.ts';

const Uploaded = z.object({ fileID: z.string(), fileSize: z.number() });
/** A file in the transfer store. */
export type StoredFile = z.output<typeof Uploaded>;

/** Uploads a file to the transfer store, as the client `app`. `ftmRoot`: path of the store. */
export async function upload(quickstart: Quickstart, ftmRoot: string, path: string): Promise<StoredFile> {
  const { resolve, reject, promise } = Promise.withResolvers<string>();
  const headers = { 'Content-Type': 'application/octet-stream', 'Content-Length': statSync(path).size };
  const url = new URL(`${ftmRoot}/files`, quickstart.baseUrl);
  const sent = request(url, { ...optionsOf(quickstart), method: 'POST', headers }, (response) => {
    text(response).then(resolve, reject);
  });
  sent.on('error', reject);
  await pipeline(createReadStream(path), sent);
  return Uploaded.parse(JSON.parse(await promise));
}

/** Deletes a file from the transfer store. */
export async function deleteStored(quickstart: Quickstart, ftmRoot: string, fileID: string): Promise<void> {
  const { resolve, reject, promise } = Promise.withResolvers<undefined>();
  const url = new URL(`${ftmRoot}/files/${fileID}`, quickstart.baseUrl);
  const sent = request(url, { ...optionsOf(quickstart), method: 'DELETE' }, (response) => {
    response.resume().on('end', () => {
      resolve(undefined);
    });
  });
  sent.on('error', reject);
  sent.end();
  await promise;
}

function optionsOf({ clients: { app }, caCertificate }: Quickstart): RequestOptions {
  return { cert: readFileSync(app.certificate), key: readFileSync(app.key), ca: readFileSync(caCertificate), agent: false };
}
