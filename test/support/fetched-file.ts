import { request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { agentFor, description, type ClientName } from './api.ts';

/** The bytes of a file of the transfer store. */
export async function fetchedFile(client: ClientName, fileID: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    request(`${description.baseUrl}/ftm/files/${fileID}`, { agent: agentFor(client) }, (response) => {
      buffer(response).then(resolve, reject);
    })
      .on('error', reject)
      .end();
  });
}
