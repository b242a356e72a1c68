import type { TokenFlag, TokenReport } from '../../token/wire/token-report.ts';

const words: Readonly<Partial<Record<TokenFlag, string>>> = {
  loginRequired: 'login required',
  writeProtected: 'write protected',
  pinPad: 'has a PIN pad',
  userPinLow: 'PIN: wrong attempts',
  userPinFinalTry: 'PIN: final try',
  userPinLocked: 'PIN locked',
  userPinToBeChanged: 'PIN to be changed',
  soPinLow: 'SO PIN: wrong attempts',
  soPinFinalTry: 'SO PIN: final try',
  soPinLocked: 'SO PIN locked',
  soPinToBeChanged: 'SO PIN to be changed',
  errorState: 'in error',
};

const faults: Readonly<Partial<Record<TokenFlag, string>>> = {
  userPinLow: 'wrong PINs have been tried since the last correct one',
  userPinFinalTry: 'one more wrong PIN locks the token',
  userPinLocked: 'the PIN is locked; the security officer must set a new one',
  userPinToBeChanged: 'the token requires a new PIN first',
  errorState: 'the token failed its self-test',
  writeProtected: 'the token is write-protected: it cannot make keys',
};

/** Describes the state of a token. */
export function tokenWords({ flags }: TokenReport): string {
  if (!flags.includes('initialised')) return 'not initialised';
  return ['initialised', flags.includes('userPinSet') ? 'PIN set' : 'no PIN', ...flags.flatMap((flag) => words[flag] ?? [])].join(', ');
}

/** Returns the faults of the configured token. */
export function tokenFaults({ flags }: TokenReport): string[] {
  const found = flags.flatMap((flag) => faults[flag] ?? []);
  if (!flags.includes('initialised')) return ['the token is not initialised; signetctl token init does that'];
  return flags.includes('userPinSet') ? found : ['the token has no user PIN', ...found];
}
