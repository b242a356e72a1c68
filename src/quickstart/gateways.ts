import { readFileSync, writeFileSync } from 'node:fs';
import { reasonOf } from '../telemetry/reason-of.ts';
import { gatewaySecrets, readGatewayPorts, smtpUser } from './gateway-settings.ts';
import { layout } from './layout.ts';
import { startSmsGateway } from './sms-gateway.ts';
import { startSmtpReceiver } from './smtp-receiver.ts';
import { tlsFiles } from './tls-material.ts';

/**
 * The quickstart's stand-ins for gateways, in a separate process. It writes its process id once
 * both serve.
 */
async function run(): Promise<void> {
  process.umask(0o077);
  const { smtp, sms } = readGatewayPorts();
  const tls = { certificate: readFileSync(tlsFiles.server, 'utf8'), key: readFileSync(tlsFiles.serverKey, 'utf8') };
  const { smtpPassword, smsToken } = gatewaySecrets();
  await startSmtpReceiver({ port: smtp, ...tls, user: smtpUser, password: smtpPassword, directory: layout.outbox });
  await startSmsGateway({ port: sms, ...tls, token: smsToken, directory: layout.outbox });
  writeFileSync(layout.gateways.pid, `${process.pid}\n`);
}

try {
  await run();
} catch (error) {
  process.stderr.write(`${reasonOf(error)}\n`);
  process.exit(1);
}
