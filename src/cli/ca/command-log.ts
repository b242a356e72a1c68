import { printLogged } from '../outcome.ts';

/** Log of the parts of the service that a command of signetctl uses. */
export const commandLog = {
  error: (message: string, fields?: Readonly<Record<string, unknown>>) => {
    printLogged(withOutput(message, fields));
  },
  warn: (message: string, fields?: Readonly<Record<string, unknown>>) => {
    printLogged(withOutput(message, fields));
  },
  info: () => undefined,
  debug: () => undefined,
};

/** Adds what a module printed. */
function withOutput(message: string, fields: Readonly<Record<string, unknown>> = {}): string {
  const { output } = fields;
  return typeof output === 'string' ? `${message}: ${output}` : message;
}
