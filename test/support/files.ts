import { send, textOf, type ApiAnswer, type ClientName } from './api.ts';

/** Uploads to the transfer store of the running service. */
export async function upload(client: ClientName, content: string | Buffer, headers: Record<string, string> = {}): Promise<ApiAnswer> {
  return send(client, { path: '/ftm/files', headers: { 'Content-Type': 'application/octet-stream', ...headers } }, content);
}

/** Another method for a file of the store. */
export async function file(client: ClientName, method: string, fileID: string): Promise<ApiAnswer> {
  return send(client, { path: `/ftm/files/${fileID}`, method });
}

export const idOf = ({ body }: ApiAnswer): string => textOf(body['fileID']);
