import { z } from 'zod';
import type { MechanismAbility, MechanismReport } from '../../token/wire/reports.ts';
import type { Outcome } from '../outcome.ts';
import { table } from '../table.ts';
import { withToken } from './token-access.ts';

const words: Readonly<Partial<Record<MechanismAbility, string>>> = {
  signRecover: 'sign with recovery',
  verifyRecover: 'verify with recovery',
  generate: 'generate keys',
  generateKeyPair: 'generate key pairs',
};

export const MechanismsOptions = z.strictObject({ slot: z.string().optional() });

/** `token mechanisms`: the token's mechanisms, and which of them signetd needs. */
export async function tokenMechanisms(configPath: string, { slot }: z.output<typeof MechanismsOptions>): Promise<Outcome> {
  return withToken(configPath, async (reports) => {
    const { mechanisms, missing } = await reports.mechanisms(slot);
    const rows = mechanisms.map((mechanism) => [
      mechanism.neededFor === null ? '' : '*',
      ['unknown', 'vendor-defined'].includes(mechanism.name) ? `${mechanism.name} ${mechanism.code}` : mechanism.name,
      sizes(mechanism),
      mechanism.abilities.map((ability) => words[ability] ?? ability).join(', '),
      mechanism.neededFor ?? '',
    ]);
    return {
      json: { mechanisms, missing },
      text: table(['', 'MECHANISM', 'KEY SIZE', 'CAN', 'SIGNETD NEEDS IT FOR'], rows),
      faults: missing.map((sentence) => `missing: ${sentence}`),
    };
  });
}

function sizes({ keySize: { min, max } }: MechanismReport): string {
  if (max === 0 && min === 0) return '-';
  return min === max ? String(min) : `${min}-${max}`;
}
