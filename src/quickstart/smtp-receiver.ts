import { timingSafeEqual } from 'node:crypto';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { loopback } from './ports.ts';
import { putIntoOutbox } from './outbox.ts';

export interface ReceiverOptions {
  readonly port: number;
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly user: string;
  readonly password: string;
  /** Directory for received messages. */
  readonly directory: string;
}

const maxMessageBytes = 1024 * 1024;

/**
 * Starts an SMTP server that writes messages to the outbox. It accepts mail only after STARTTLS and
 * authentication.
 */
export async function startSmtpReceiver({ port, certificate, key, user, password, directory }: ReceiverOptions): Promise<void> {
  const server = new SMTPServer({
    cert: certificate,
    key,
    authMethods: ['PLAIN', 'LOGIN'],
    allowInsecureAuth: false,
    disableReverseLookup: true,
    size: maxMessageBytes,
    onAuth(given, _session, callback) {
      if (given.username === user && isSame(given.password ?? '', password)) callback(null, { user });
      else callback(new Error('wrong user or password'));
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.once('error', callback);
      stream.once('end', () => {
        textIn(Buffer.concat(chunks))
          .then((text) => {
            const names = session.envelope.rcptTo.map(({ address }) => putIntoOutbox(directory, { channel: 'email', to: address, text }));
            callback(null, `OK: queued as ${names[0]?.replace(/\.json$/, '') ?? 'nothing'}`);
          })
          .catch((error: unknown) => {
            callback(error instanceof Error ? error : new Error(String(error)));
          });
      });
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, loopback, () => {
      server.off('error', reject);
      // A client that disconnects must not end the process.
      server.on('error', () => undefined);
      resolve();
    });
  });
}

/** Returns the plain text of a message with LF line ends, without the last one, which MIME adds. */
async function textIn(message: Buffer): Promise<string> {
  const { text } = await PostalMime.parse(message);
  return (text ?? '').replaceAll('\r\n', '\n').replace(/\n$/, '');
}

function isSame(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
