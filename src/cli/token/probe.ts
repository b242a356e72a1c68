import { z } from 'zod';
import { loadTokenConfig } from '../../config/config.ts';
import { connectToHost } from '../../token/operator/host-questions.ts';
import type { ProbeReport } from '../../token/wire/probe-report.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { printable } from '../printable.ts';
import { fields } from '../table.ts';
import { answerMs, withToken } from './token-access.ts';
import { tokenFaults, tokenWords } from './token-words.ts';

export const ProbeOptions = z.strictObject({ full: z.boolean().default(false) });

/** Six key types, with RSA up to 4096 bits, are slow on some HSMs. */
const fullProbeMs = 120_000;

const stateWords: Readonly<Record<ProbeReport['keyTypes'][number]['state'], string>> = {
  works: 'works    ',
  offered: 'offered  ',
  missing: 'MISSING  ',
};

/**
 * `token probe`: reports whether module and token support what signetd needs, as found at the
 * host's start or, without a host, by a new probe.
 */
export async function tokenProbe(configPath: string, { full }: z.output<typeof ProbeOptions>): Promise<Outcome> {
  if (full) await refuseWhileHostRuns(configPath);
  return withToken(configPath, async (reports) => outcomeOf(await reports.probe(full)), full ? fullProbeMs : 0);
}

function outcomeOf(report: ProbeReport): Outcome {
  const { module, token, vendor, keyTypes, limits, missing } = report;
  return {
    json: report,
    text: [
      fields([
        ['profile', vendor],
        ['module', `${module.description} ${module.version}, ${module.manufacturer}, Cryptoki ${module.cryptokiVersion}`],
        ['token', `${token.label}, serial ${token.serial}, ${token.model}, ${token.manufacturer}`],
        ['versions', `hardware ${token.hardwareVersion}, firmware ${token.firmwareVersion}`],
        ['state', tokenWords(token)],
        [
          'sessions',
          `${token.sessions.open ?? 'unknown'} open, ${token.sessions.max === null ? 'no limit' : `at most ${token.sessions.max}`}`,
        ],
      ]),
      '\n',
      ...keyTypes.map(({ type, state }) => `${stateWords[state]}${type} keys\n`),
      ...limits.map((sentence) => `limit    ${printable(sentence)}\n`),
      ...missing.map((sentence) => `MISSING  ${printable(sentence)}\n`),
    ].join(''),
    faults: [...tokenFaults(token), ...missing.map((sentence) => `missing: ${sentence}`)],
  };
}

/** Refuses a full probe while requests would have to wait for it. @throws {CommandError} */
async function refuseWhileHostRuns(configPath: string): Promise<void> {
  const config = loadTokenConfig(configPath);
  const host = await connectToHost(config.socketPath, answerMs(config));
  if (host === undefined) return;
  host.close();
  throw new CommandError(
    exitCodes.refused,
    'the token host is running, and requests would have to wait for a full probe; stop signetd and signetd-token first',
  );
}
