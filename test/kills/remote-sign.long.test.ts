import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { PersistentCaller } from '../idempotency/callers.ts';
import { verifiedCades } from '../support/openssl-cms.ts';
import { derOf, outsideAuthority, signOutside, type OutsideAuthority, type OutsideSigner } from '../support/outside-signer.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { repetitions } from '../support/repetitions.ts';
import { TwoDaemons } from '../support/two-daemons.ts';

const rounds = repetitions(6);
const longestMs = 40_000 * rounds;
const text = 'signed between two kills';
const environment = quickstartEnvironment();
let daemons: TwoDaemons;
let caller: PersistentCaller;
let authority: OutsideAuthority;
let signer: OutsideSigner;

beforeAll(async () => {
  authority = outsideAuthority();
  signer = authority.certify('P-256');
  daemons = await TwoDaemons.start(environment);
  caller = new PersistentCaller(environment);
});

afterAll(async () => {
  await daemons.stop();
  environment.remove();
});

const Opened = z.object({
  result: z.object({ resultMajor: z.literal(0) }),
  signatureThreadId: z.string(),
  signerData: z.object({ digest: z.array(z.object({ id: z.string(), digestValue: z.string() })) }),
});
const Completed = z.object({
  result: z.object({ resultMajor: z.literal(0) }),
  evidenceObject: z.object({ document: z.object({ base64Data: z.object({ base64Value: z.base64() }) }) }),
});

const at = (index: 0 | 1) => (): string => daemons.instances[index].baseUrl;
const codeOf = (answer: string): string => {
  const { result } = z.object({ result: z.object({ resultMajor: z.int(), resultMinor: z.int() }) }).parse(JSON.parse(answer));
  return `${result.resultMajor}/${result.resultMinor}`;
};

/** Opens a session at an instance; answers the request that completes it. `content` is attached. */
async function opened(index: 0 | 1, content: string | Buffer = text): Promise<object> {
  const body = {
    parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: false } } } },
    inputDocuments: [{ ID: 'd', base64Data: { base64Value: Buffer.from(content).toString('base64') } }],
    signerCertificate: derOf(signer.certificate),
    certificateChain: [derOf(authority.issuer)],
  };
  const { signatureThreadId, signerData } = Opened.parse(JSON.parse(await caller.ask(at(index), 'signature/remotePreSign', body)));
  const signatureValueMapping = signerData.digest.map(({ id, digestValue }) => ({
    id,
    signatureValue: signOutside(signer, digestValue, { hash: 'sha256' }),
  }));
  return { signatureThreadId, signatureValues: { signatureValueMapping } };
}

function verify(answer: string): void {
  const cms = Buffer.from(Completed.parse(JSON.parse(answer)).evidenceObject.document.base64Data.base64Value, 'base64');
  expect(verifiedCades(cms, authority.root)).toContain('successful');
}

const sessionsLeft = async (): Promise<unknown> => {
  const [row] = await daemons.postgresql.query(daemons.database, 'select count(*)::int as open from signature_sessions');
  return row?.['open'];
};

it(
  'a session that one instance opened is completed by the other after kill -9 of the first, once',
  async () => {
    for (const content of [text, Buffer.alloc(3_000_000, 7)]) {
      const completion = await opened(0, content);
      await daemons.instances[0].daemon.kill();
      const answer = await caller.ask(at(1), 'signature/remoteSign', completion);
      expect(codeOf(answer)).toBe('0/0');
      verify(answer);
      await daemons.instances[0].daemon.start();
      for (const index of [0, 1] as const) expect(codeOf(await caller.ask(at(index), 'signature/remoteSign', completion))).toBe('2/221');
    }
  },
  longestMs,
);

it(
  'is completed by one of many requests at both instances at the same time',
  async () => {
    for (let round = 0; round < rounds; round += 1) {
      const completion = await opened(0);
      const answers = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => caller.ask(at(index % 2 === 0 ? 0 : 1), 'signature/remoteSign', completion)),
      );
      expect(answers.map(codeOf).toSorted()).toEqual(['0/0', ...Array.from({ length: 9 }, () => '2/221')]);
    }
  },
  longestMs,
);

it(
  `is complete or open after kill -9 of the instance that completes it, ${rounds} times`,
  async () => {
    for (let round = 0; round < rounds; round += 1) {
      const completion = await opened(0);
      const asked = caller.once(at(0), 'signature/remoteSign', completion);
      await delay(randomInt(0, 25));
      await daemons.instances[0].daemon.kill();
      const first = await asked;
      const second = await caller.ask(at(1), 'signature/remoteSign', completion);
      if (first !== undefined && codeOf(first) === '0/0') expect(codeOf(second)).toBe('2/221');
      expect(['0/0', '2/221']).toContain(codeOf(second));
      for (const answer of [first, second]) if (answer !== undefined && codeOf(answer) === '0/0') verify(answer);
      await daemons.instances[0].daemon.start();
    }
    expect(await sessionsLeft()).toBe(0);
  },
  longestMs,
);

it(
  `answers its evidence whatever is killed, with an Idempotency-Key, ${rounds} times`,
  async () => {
    for (let round = 0; round < rounds; round += 1) {
      const completion = await opened(0);
      const idempotencyKey = randomUUID();
      let tries = 0;
      const asked = caller.ask(() => daemons.instances[tries++ % 2]?.baseUrl ?? '', 'signature/remoteSign', completion, idempotencyKey);
      await delay(randomInt(0, 25));
      await daemons.instances[0].daemon.kill();
      const first = await asked;
      verify(first);
      expect(await caller.ask(at(1), 'signature/remoteSign', completion, idempotencyKey)).toBe(first);
      await daemons.instances[0].daemon.start();
    }
  },
  longestMs,
);
