import type { Config } from '../../config/config.ts';
import { TokenFailure, type FailureKind } from '../../token/operator/token-failure.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { withToken } from '../token/token-access.ts';
import { tokenFaults } from '../token/token-words.ts';
import { fault, good, type Diagnosis } from './diagnosis.ts';

const remedies: Readonly<Record<FailureKind, string>> = {
  unreachable: 'check token.label, token.profile and the connection to the device; signetctl token slots shows what is there',
  pinRefused: 'the page lost-pin.md has the steps',
  refused: 'correct that first',
  configuration: 'correct the section token',
};

/**
 * Diagnoses the token.
 * @param isStopped whether the service does not run: the keys of the authorities are then looked for
 *   on the token; otherwise the check of the configuration has the service sign with them
 */
export async function token(configPath: string, config: Config, isStopped: boolean): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  try {
    await withToken(configPath, async (reports) => {
      const report = await reports.probe(false);
      for (const text of [...tokenFaults(report.token), ...report.missing]) found.push(fault('token', text));
      if (isStopped) found.push(...missingKeys(config, new Set((await reports.inventory()).objects.map(({ id }) => id))));
      return { json: undefined, text: '' };
    });
  } catch (error) {
    const remedy = error instanceof TokenFailure ? remedies[error.kind] : 'see signetctl token probe';
    return [fault('token', `${reasonOf(error)}: ${remedy}`)];
  }
  return found.length > 0 ? found : [good('token', 'module and token support what signetd needs')];
}

function missingKeys({ certificateAuthorities, timeStampAuthority }: Config, present: ReadonlySet<string>): Diagnosis[] {
  const wanted = [
    ...Object.entries(certificateAuthorities)
      .filter(([, { retired }]) => !retired)
      .map(([name, { keyId }]) => [`certificateAuthorities.${name}`, keyId] as const),
    ...(timeStampAuthority === undefined ? [] : [['timeStampAuthority', timeStampAuthority.keyId] as const]),
  ];
  return wanted
    .filter(([, keyId]) => !present.has(keyId.toLowerCase()))
    .map(([member, keyId]) =>
      fault(
        'token',
        `${member}.keyId: the token has no key ${keyId}: correct the keyId (signetctl token inventory lists the keys), or restore the token from its backup`,
      ),
    );
}
