import { TokenClient } from '../../src/token/client/token-client.ts';
import { loadTokenConfig } from '../../src/config/config.ts';
import { storeKeyJournal } from '../../src/keys/store-key-journal.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { serviceKeys } from '../../src/token/service-keys.ts';
import { TokenCrypto } from '../../src/webcrypto/token-crypto.ts';

// A process of its own, to be killed: makes keys without end and keeps none but the first. Says each key that it has made.
const [, , configPath = '', storePath = ''] = process.argv;
const quiet = { info: () => undefined, error: () => undefined };
const token = new TokenClient(loadTokenConfig(configPath), configPath, quiet);
await token.start();
const crypto = new TokenCrypto(serviceKeys(token, token.messages), storeKeyJournal(await openSqliteStore(storePath)));
const kept = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
await crypto.keep(kept);
process.stdout.write(`${crypto.idOf(kept)}\n`);
for (;;) {
  const [key, { privateKey }] = await Promise.all([
    crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']),
    crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']),
  ]);
  process.stdout.write(`${crypto.idOf(key)} ${crypto.idOf(privateKey)}\n`);
}
