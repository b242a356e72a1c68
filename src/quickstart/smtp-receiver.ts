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
  /** Where messages are put. */
  readonly directory: string;
}

const maxMessageBytes = 1024 * 1024;

/** An SMTP server that puts what it gets into the outbox. It takes mail after STARTTLS and authentication alone. */
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
      else callback(new Error('the user or the password is wrong'));
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
      // A client that breaks off is no reason to end.
      server.on('error', () => undefined);
      resolve();
    });
  });
}

/** The plain text of a message, its lines ended by LF. MIME ends the last line too, which is no part of the text. */
async function textIn(message: Buffer): Promise<string> {
  const { text } = await PostalMime.parse(message);
  return (text ?? '').replaceAll('\r\n', '\n').replace(/\n$/, '');
}

function isSame(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
