import type { AccountVerdict, UnrecordedUse } from '../../audit/compare-account.ts';

/** What the comparison with the token host's account came to, for people. */
export function accountFields(account: AccountVerdict): [string, string][] {
  const { lines, recorded, unrecordedCount, explainedCount, services, wrongSecrets, bad } = account;
  const others = Object.values(services).reduce((sum, count) => sum + count, 0);
  const explained = explainedCount === 0 ? '' : `, ${explainedCount} that were explained`;
  return [
    ['account', bad.length > 0 ? 'NOT as it was written' : `${lines} lines, as they were written`],
    ['uses', `${recorded} with a record, ${unrecordedCount} ${unrecordedCount === 0 ? 'without' : 'WITHOUT'}${explained}`],
    ['other uses', `${others} of ${Object.keys(services).length} service keys that have no record each (OCSP, time-stamps, checkpoints)`],
    ['wrong secrets', `${wrongSecrets} that the token host compared`],
  ];
}

/** @param isWhole whether the log was read to its end; where it was not, records are missing for that alone */
export function accountFaults({ bad, unrecorded, unrecordedCount }: AccountVerdict, isWhole: boolean): string[] {
  const changed = bad.map(({ file, line, why }) => (file.endsWith('-') ? `${file.slice(0, -1)}: ${why}` : `${file}, line ${line}: ${why}`));
  if (!isWhole) return changed;
  const more = unrecordedCount - unrecorded.length;
  return [...changed, ...unrecorded.map(useWords), ...(more === 0 ? [] : [`and ${more} further uses without a record`])];
}

function useWords({ use, time, file, line, place, startedAgain }: UnrecordedUse): string {
  const [kind, key, how, what] = use.split(' ');
  const did =
    kind === 'mac' ? `a MAC was made for a new secret of the key ${key} (${how}) at ${time}` : `the key ${key} signed ${what} at ${time}`;
  const after = startedAgain === undefined ? '' : ` (signetd started again at ${startedAgain}: a crash may have cut its record)`;
  return `${file}, line ${line}: ${did}; the audit log has no record of it${after}; ${place}`;
}
