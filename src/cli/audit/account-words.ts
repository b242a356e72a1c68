import type { AccountVerdict, UnrecordedUse } from '../../audit/compare-account.ts';

/** Describes the result of the comparison with the token host's account. */
export function accountFields(account: AccountVerdict): [string, string][] {
  const { lines, recorded, unrecordedCount, explainedCount, services, wrongSecrets, bad } = account;
  const others = Object.values(services).reduce((sum, count) => sum + count, 0);
  const explained = explainedCount === 0 ? '' : `, ${explainedCount} explained`;
  return [
    ['account', bad.length > 0 ? 'DAMAGED' : `${lines} lines, intact`],
    ['uses', `${recorded} with a record, ${unrecordedCount} ${unrecordedCount === 0 ? 'without' : 'WITHOUT'}${explained}`],
    [
      'other uses',
      `${others} by ${Object.keys(services).length} service keys, which have no single records (OCSP, time-stamps, checkpoints)`,
    ],
    ['wrong secrets', `${wrongSecrets} compared by the token host`],
  ];
}

/**
 * @param isWhole whether the log was read to its end; if not, uses without a record prove nothing
 */
export function accountFaults({ bad, unrecorded, unrecordedCount }: AccountVerdict, isWhole: boolean): string[] {
  const changed = bad.map(({ file, line, why }) => (file.endsWith('-') ? `${file.slice(0, -1)}: ${why}` : `${file}, line ${line}: ${why}`));
  if (!isWhole) return changed;
  const more = unrecordedCount - unrecorded.length;
  return [...changed, ...unrecorded.map(useWords), ...(more === 0 ? [] : [`and ${more} more uses without a record`])];
}

function useWords({ use, time, file, line, place, startedAgain }: UnrecordedUse): string {
  const [kind, key, how, what] = use.split(' ');
  const did =
    kind === 'mac' ? `a MAC was made for a new secret of the key ${key} (${how}) at ${time}` : `the key ${key} signed ${what} at ${time}`;
  const after =
    startedAgain === undefined ? '' : ` (signetd started again at ${startedAgain}: a crash, or a full disk, may have prevented its record)`;
  return `${file}, line ${line}: ${did}; the audit log has no record of it${after}; ${place}`;
}
