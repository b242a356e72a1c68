import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { layout } from './layout.ts';
import { loopback } from './ports.ts';
import { tlsFiles } from './tls-material.ts';

const GatewayPorts = z.object({ smtp: z.int(), sms: z.int() });
export type GatewayPorts = z.output<typeof GatewayPorts>;

export const smtpUser = 'signetd';

/** Returns the ports of the stand-ins, chosen at the first start. */
export function readGatewayPorts(): GatewayPorts {
  return GatewayPorts.parse(JSON.parse(readFileSync(layout.gateways.ports, 'utf8')));
}

/** Whether the stand-ins have been started before. */
export function hasGateways(): boolean {
  return existsSync(layout.gateways.ports);
}

/** Makes the random secrets shared by the stand-ins and the service, in files with mode 0600. */
export function makeGatewaySecrets(): void {
  for (const directory of [layout.gateways.directory, layout.outbox]) mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const file of [layout.gateways.smtpPassword, layout.gateways.smsToken]) {
    if (!existsSync(file)) writeFileSync(file, `${randomBytes(18).toString('base64url')}\n`, { mode: 0o600 });
  }
}

export function gatewaySecrets(): { smtpPassword: string; smsToken: string } {
  const [smtpPassword = '', smsToken = ''] = [layout.gateways.smtpPassword, layout.gateways.smsToken].map((file) =>
    readFileSync(file, 'utf8').trim(),
  );
  return { smtpPassword, smsToken };
}

/** Returns the section `messages` of the service's configuration. */
export function messagesSection({ smtp, sms }: GatewayPorts): object {
  return {
    sms: {
      url: `https://${loopback}:${sms}/messages`,
      headers: { Authorization: 'Bearer {{secret.token}}' },
      secrets: { token: `file:${layout.gateways.smsToken}` },
      body: { json: { to: '{{phoneNumber}}', text: '{{text}}', reference: '{{id}}' } },
      answer: { messageId: { jsonPointer: '/id' }, code: { jsonPointer: '/status' }, codes: ['queued'], text: { jsonPointer: '/detail' } },
      certificateAuthority: tlsFiles.authority,
    },
    email: {
      host: loopback,
      port: smtp,
      user: smtpUser,
      password: `file:${layout.gateways.smtpPassword}`,
      from: 'signetd@quickstart.example',
      fromName: 'signetd quickstart',
      certificateAuthority: tlsFiles.authority,
    },
  };
}
