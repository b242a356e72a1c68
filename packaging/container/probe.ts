import { request } from 'node:http';

/**
 * `signetd-probe live|ready`: asks the daemon of this container for its health, and ends with 0 if
 * it answers 200, otherwise with 1 and the reason, or with 2 for a wrong argument. A kubelet runs
 * it in the container, so that health, metrics and console need no address that other pods reach.
 * SIGNETD_OPERATIONS names another address (`127.0.0.1:9443`) or a Unix socket (an absolute path).
 */
const [kind = 'ready'] = process.argv.slice(2);
const place = process.env['SIGNETD_OPERATIONS'] ?? '127.0.0.1:9443';
const timeoutMs = 8000;
const shownCharacters = 500;

function end(code: number, text: string): never {
  process.stdout.write(`${text.slice(0, shownCharacters)}\n`);
  process.exit(code);
}

if (kind !== 'live' && kind !== 'ready') end(2, 'usage: signetd-probe live|ready');
const [, host = '127.0.0.1', port = '9443'] = /^\[?([^[\]]+?)\]?:(\d+)$/.exec(place) ?? [];
const address = place.startsWith('/') ? { socketPath: place } : { host, port: Number(port) };
const sent = request({ ...address, path: `/health/${kind}`, timeout: timeoutMs }, (response) => {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    if (text.length < shownCharacters) text += chunk;
  });
  response.on('end', () => {
    end(response.statusCode === 200 ? 0 : 1, `HTTP ${response.statusCode}: ${text}`);
  });
});
sent.on('timeout', () => {
  end(1, `${place} does not answer`);
});
sent.on('error', ({ message }) => {
  end(1, message);
});
sent.end();
