import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';

export interface FetchLimits {
  /** PEM; absent: the authorities that Node trusts. */
  readonly certificateAuthority: string | undefined;
  /** From the look-up of the name to the last byte. */
  readonly timeoutSeconds: number;
  readonly maxBytes: number;
}

/** Gets a document over TLS 1.2 or 1.3 with a checked certificate. Whatever is not its content is an error, a redirect too. @throws {Error} */
export async function fetchDocument(url: string, { certificateAuthority, timeoutSeconds, maxBytes }: FetchLimits): Promise<Buffer> {
  const deadline = AbortSignal.timeout(1000 * timeoutSeconds);
  const agent = new Agent({ keepAlive: false, ca: certificateAuthority, minVersion: 'TLSv1.2', rejectUnauthorized: true });
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      const headers = { Accept: 'application/jwk-set+json, application/json', 'Accept-Encoding': 'identity' };
      const sent = request(url, { agent, headers, signal: deadline }, (response) => {
        read(response, maxBytes).then(resolve, reject);
      });
      sent.once('error', reject);
      sent.end();
    });
  } catch (error) {
    if (deadline.aborted) throw new Error(`no answer within ${timeoutSeconds} s`, { cause: error });
    throw error;
  } finally {
    agent.destroy();
  }
}

async function read(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (response.statusCode !== 200) {
    response.destroy();
    throw new Error(`the answer is HTTP ${response.statusCode}, and only 200 is taken`);
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    // Node's HTTP parser hands over bytes where no encoding is set.
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > maxBytes) {
      response.destroy();
      throw new Error(`an answer of more than ${maxBytes} bytes`);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
