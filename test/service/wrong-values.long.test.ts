import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { callersKeysOnToken, Created } from '../idempotency/callers.ts';
import { smallPdf } from '../support/small-pdf.ts';
import { faultModule, type FaultModule } from '../support/fault-module.ts';
import { newCertificate, OwnService } from '../support/own-service.ts';

const Result = z.looseObject({
  result: z.looseObject({ resultMajor: z.number(), resultMinor: z.number(), resultMessage: z.string().default('') }),
});
const Made = z.looseObject({ result: z.looseObject({ majorCode: z.number(), minorCode: z.number().default(0) }) });
const xml = Buffer.from('<a><b/></a>');
const xp7 = (XP7Format: string, provider: string, own: object = {}): object => ({
  XP7Signature: { XP7Format, XP7Providers: { [provider]: own } },
});
const kinds = [
  { name: 'raw', parameters: { rawSignature: {} }, content: xml },
  { name: 'CAdES', parameters: xp7('CXP_7', 'CXP7Parameters', { detached: false }), content: xml },
  { name: 'XAdES', parameters: xp7('EXXP_7', 'EXXP7Parameters'), content: xml },
  { name: 'PAdES', parameters: xp7('PXP_7', 'PXP7Parameters'), content: smallPdf() },
];

let module: FaultModule;
let service: OwnService;
beforeAll(async () => {
  module = faultModule();
  service = await OwnService.start((made) => {
    const { configFile } = made.description();
    const config = parse(readFileSync(configFile, 'utf8')) as { token: { environment?: object } };
    const token = { ...config.token, modulePath: module.path, environment: { ...config.token.environment, ...module.environment } };
    writeFileSync(configFile, stringify({ ...config, token, keyPool: { keys: 0 } }));
  });
}, 120_000);
afterAll(async () => {
  await service.remove();
  module.remove();
});

it(
  'a token that makes wrong values has nothing leave the service: 2/291, and it works again afterwards',
  { timeout: 120_000 },
  async () => {
    const { keyReference } = Created.parse(JSON.parse(await service.post('pki/createCertificate', newCertificate())));
    const sign = async ({ parameters, content }: (typeof kinds)[number]): Promise<string> => {
      const inputDocuments = [{ ID: 'd', base64Data: { base64Value: content.toString('base64') } }];
      const { resultMajor, resultMinor, resultMessage } = Result.parse(
        JSON.parse(await service.post('signature/sign', { keyReference, parameters, inputDocuments })),
      ).result;
      return resultMajor === 0 ? 'signed' : `${resultMajor}/${resultMinor} ${resultMessage}`;
    };
    const refused = '2/291 the token is down or did not answer in time; it is safe to repeat the request';
    for (let time = 1; time <= 2; time += 1) {
      for (const kind of kinds) expect(await sign(kind), kind.name).toBe('signed');
      const keys = callersKeysOnToken(service.environment);
      module.arm('always C_Sign garble');
      for (const kind of kinds) expect(await sign(kind), kind.name).toBe(refused);
      expect(Made.parse(JSON.parse(await service.post('pki/createCertificate', newCertificate()))).result).toMatchObject({
        majorCode: 2,
        minorCode: 291,
      });
      module.disarm();
      await vi.waitUntil(() => callersKeysOnToken(service.environment).length === keys.length, { timeout: 30_000 });
    }
    for (const kind of kinds) expect(await sign(kind), kind.name).toBe('signed');
  },
);
