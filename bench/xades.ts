/** XAdES: big files compared with libxml2 alone, and small documents with raw signatures. */
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { measureLoad, serverCpuPerRequest } from './native-tools.ts';
import type { Quickstart } from './quickstart-description.ts';
import { ServiceClient, type Reference } from './service-client.ts';
import { signetdPids } from './signetd-processes.ts';

const mebibyte = 1024 * 1024;
const sizesMebibytes = [10, 50];
const goals = { time: 1.5, memory: 14, small: 2 };
const connections = 8;
const length = { seconds: 5, warmup: 2 };
const rounds = 3;
const smallDocument = `<?xml version="1.0" encoding="UTF-8"?>\n<invoice xmlns="urn:example:invoice">${'<line nr="7">Twelve screws, 5 mm</line>'.repeat(25)}</invoice>\n`;

/** Returns lines of text; goals are shown, not enforced. */
export async function xadesLines(quickstart: Quickstart, directory: string, say: (line: string) => void): Promise<string[]> {
  const lines = sizesMebibytes.flatMap((size) => {
    say(`XAdES over a file of ${size} MiB`);
    return fileLines(size, directory);
  });
  say('XAdES over documents of 1 KB and raw signatures, in turns');
  lines.push(await smallLine(quickstart, directory));
  return lines;
}

function fileLines(size: number, parent: string): string[] {
  const directory = mkdtempSync(join(parent, 'xades-'));
  try {
    const file = join(directory, 'invoices.xml');
    writeFileSync(file, invoices(size * mebibyte));
    selfSigned(directory);
    const { alone, signed } = z.object({ alone: z.number(), signed: z.number() }).parse(figures('time', file));
    const memory = memoryTimes(file, size, directory);
    return [
      `XAdES enveloped, ${size} MiB: ${signed.toFixed(2)} s of processor time, verified; libxml2's parse and C14N ${alone.toFixed(2)} s; ratio ${(signed / alone).toFixed(2)} (goal ${goals.time})`,
      `XAdES enveloped, ${size} MiB: memory ${memory.toFixed(1)} times the document (goal ${goals.memory})`,
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function memoryTimes(file: string, size: number, directory: string): number {
  const empty = join(directory, 'empty.xml');
  writeFileSync(empty, '<empty/>');
  const peak = (path: string): number => z.object({ peakBytes: z.number() }).parse(figures('memory', path)).peakBytes;
  return (peak(file) - peak(empty)) / (size * mebibyte);
}

/** Returns the memory that signing an XML document of so many mebibytes takes, for each of its bytes. `directory`: for scratch files. */
export function xmlMemoryTimes(size: number, directory: string): number {
  const file = join(directory, 'invoices.xml');
  writeFileSync(file, invoices(size * mebibyte));
  selfSigned(directory);
  return memoryTimes(file, size, directory);
}

function figures(mode: 'time' | 'memory', file: string): unknown {
  const script = fileURLToPath(new URL('./xades-file.ts', import.meta.url));
  return JSON.parse(
    execFileSync(process.execPath, ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', script, mode, file], {
      encoding: 'utf8',
    }),
  );
}

/** A document of many small elements, as business data is. */
function invoices(bytes: number): string {
  const parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<inv:Invoices xmlns:inv="urn:example:invoices" xmlns="urn:example:base">\n'];
  for (let written = 0, index = 0; written < bytes; index += 1) {
    const invoice = `  <inv:Invoice id="i${index}" currency="EUR">\n    <Customer nr="${index * 7}"><Name>Société ${index}</Name><City>Paris &amp; Lyon</City></Customer>\n    <Line pos="1" amount="12.50" vat='20'>Screws, nuts and bolts</Line>\n    <Line pos="2" amount="112.50" vat='20'/>\n  </inv:Invoice>\n`;
    parts.push(invoice);
    written += Buffer.byteLength(invoice);
  }
  return `${parts.join('')}</inv:Invoices>\n`;
}

function selfSigned(directory: string): void {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = join(directory, 'key.pem');
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const args = ['req', '-x509', '-key', key, '-subj', '/CN=bench', '-days', '2', '-out', join(directory, 'certificate.pem')];
  execFileSync('openssl', args, { stdio: 'pipe' });
}

async function smallLine(quickstart: Quickstart, directory: string): Promise<string> {
  const service = new ServiceClient(quickstart, quickstart.clients.other);
  const key = await service.createKey();
  try {
    const [xades, raw]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      raw.push(await cpuEach(quickstart, directory, requestOf(key, { rawSignature: {} })));
      xades.push(await cpuEach(quickstart, directory, requestOf(key, { XP7Signature: { XP7Format: 'EXXP_7' } })));
    }
    const [best, bestRaw] = [Math.min(...xades) * 1e6, Math.min(...raw) * 1e6];
    return `XAdES enveloped, 1 KB, P-256: ${best.toFixed(0)} µs of processor time each; raw signature ${bestRaw.toFixed(0)} µs; ratio ${(best / bestRaw).toFixed(2)} (goal ${goals.small})`;
  } finally {
    await service.removeKey(key);
  }
}

async function cpuEach(quickstart: Quickstart, directory: string, body: object): Promise<number> {
  const service = new ServiceClient(quickstart, quickstart.clients.other);
  const bodyFile = join(directory, 'xades-request.json');
  writeFileSync(bodyFile, JSON.stringify(body), { mode: 0o600 });
  const { client } = service;
  const target = { url: service.urlOf('signature/sign'), client, caCertificate: quickstart.caCertificate, bodyFile };
  const load = await measureLoad({ ...target, expected: '"resultMajor":0', pids: signetdPids() }, { connections, ...length });
  if (load.errors > 0) throw new Error(`${load.errors} errors; the first: ${load.firstError}`);
  return serverCpuPerRequest(load);
}

function requestOf({ reference, password }: Reference, parameters: object): object {
  const base64Value = Buffer.from(smallDocument).toString('base64');
  return { keyReference: { reference, password }, parameters, inputDocuments: [{ ID: 'd', base64Data: { base64Value } }] };
}
