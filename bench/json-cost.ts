/** Cost of the strict scan of a body compared with JSON.parse, in processor time of this thread. */
import { randomBytes } from 'node:crypto';
import { JsonScanner } from '../src/http/json/json-scanner.ts';

const mebibyte = 1024 * 1024;
const minMs = 300;

const documents = (count: number, bytes: number): object => ({
  inputDocuments: Array.from({ length: count }, (_, index) => ({
    ID: `d${index}`,
    base64Data: { base64Value: randomBytes(bytes).toString('base64') },
  })),
});

const bodies = {
  'one document': documents(1, 768 * 1024),
  '100 documents of 1 KiB': documents(100, 1024),
  '10,000 small values': { list: Array.from({ length: 2000 }, (_, index) => ({ id: index, name: `n${index}`, ok: true })) },
  'texts with escapes': { list: Array.from({ length: 500 }, () => 'é "quoted"\n'.repeat(100)) },
} as const;

export function jsonCostLines(): string[] {
  return Object.entries(bodies).map(([name, body]) => {
    const bytes = Buffer.from(JSON.stringify(body));
    const scan = msPerMebibyte(bytes, () => {
      new JsonScanner(bytes, { valuesMax: 100_000 }).document();
    });
    const parse = msPerMebibyte(bytes, () => void JSON.parse(bytes.toString('utf8')));
    return `strict JSON, ${name} (${(bytes.length / 1024).toFixed(0)} KiB): scan ${scan.toFixed(2)} ms/MiB, JSON.parse ${parse.toFixed(2)} ms/MiB, ratio ${(scan / parse).toFixed(2)}`;
  });
}

function msPerMebibyte(bytes: Buffer, work: () => void): number {
  work();
  let rounds = 0;
  const begin = process.threadCpuUsage();
  for (const end = performance.now() + minMs; performance.now() < end; rounds += 1) work();
  const { user, system } = process.threadCpuUsage(begin);
  return (user + system) / 1000 / rounds / (bytes.length / mebibyte);
}
