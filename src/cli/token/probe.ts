import type { Outcome } from '../outcome.ts';
import { printable } from '../printable.ts';
import { fields } from '../table.ts';
import { withToken } from './token-access.ts';
import { tokenFaults, tokenWords } from './token-words.ts';

/** `token probe`: module, token, and whether they have what signetd needs. */
export async function tokenProbe(configPath: string): Promise<Outcome> {
  return withToken(configPath, async (reports) => {
    const report = await reports.probe();
    const { module, token, present, missing } = report;
    return {
      json: report,
      text: [
        fields([
          ['module', `${module.description} ${module.version}, ${module.manufacturer}, Cryptoki ${module.cryptokiVersion}`],
          ['token', `${token.label}, serial ${token.serial}, ${token.model}, ${token.manufacturer}`],
          ['versions', `hardware ${token.hardwareVersion}, firmware ${token.firmwareVersion}`],
          ['state', tokenWords(token)],
          ['sessions', `${token.sessions.open ?? 'unknown'} open, at most ${token.sessions.max ?? 'as many as wanted'}`],
        ]),
        '\n',
        ...present.map((sentence) => `present  ${printable(sentence)}\n`),
        ...missing.map((sentence) => `MISSING  ${printable(sentence)}\n`),
      ].join(''),
      faults: [...tokenFaults(token), ...missing.map((sentence) => `missing: ${sentence}`)],
    };
  });
}
