import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

export const projectRoot = fileURLToPath(new URL('..', import.meta.url));
const named = process.env['SIGNETD_QUICKSTART_DIRECTORY'] ?? '';
export const quickstartDirectory = named === '' ? join(projectRoot, 'var', 'quickstart') : named;

const Client = z.object({ certificate: z.string(), key: z.string() });

const Description = z.object({
  baseUrl: z.url(),
  opsUrl: z.url(),
  publicUrl: z.url(),
  signRoot: z.string(),
  /** Path of the transfer store, if the service has one. */
  ftmRoot: z.string().optional(),
  /** Path of the API of the Cloud Signature Consortium, if it is offered. */
  cscRoot: z.string().optional(),
  /** Path of the operations of 2D-Doc, and the digital identity of client `app`; an earlier version has neither. */
  doc2dRoot: z.string().optional(),
  twoDDoc: z.object({ caId: z.string(), certificateId: z.string(), keyReference: z.string(), password: z.string() }).optional(),
  caCertificate: z.string(),
  clients: z.object({ app: Client, other: Client, p384: Client }),
  configFile: z.string(),
});

/** URLs of the running quickstart, and PEM files of its clients. */
export type Quickstart = z.output<typeof Description>;
/** PEM files of one client. */
export type Client = z.output<typeof Client>;

/**
 * Reads the quickstart's description of itself; undefined if there is none. Relative paths are
 * relative to the file.
 */
export function readQuickstart(directory = quickstartDirectory): Quickstart | undefined {
  const file = join(directory, 'quickstart.json');
  if (!existsSync(file)) return undefined;
  const read = Description.parse(JSON.parse(readFileSync(file, 'utf8')));
  const absolute = (path: string): string => resolve(dirname(file), path);
  const client = ({ certificate, key }: Client): Client => ({ certificate: absolute(certificate), key: absolute(key) });
  return {
    ...read,
    caCertificate: absolute(read.caCertificate),
    configFile: absolute(read.configFile),
    clients: { app: client(read.clients.app), other: client(read.clients.other), p384: client(read.clients.p384) },
  };
}
