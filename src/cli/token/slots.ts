import type { Outcome } from '../outcome.ts';
import { table } from '../table.ts';
import { withToken } from './token-access.ts';
import { tokenFaults, tokenWords } from './token-words.ts';

/** `token slots`: lists the slots with their tokens and marks the configured one. */
export async function tokenSlots(configPath: string): Promise<Outcome> {
  return withToken(configPath, async (reports, { label }) => {
    const slots = await reports.slots();
    const configured = slots.filter(({ token }) => token?.label === label && token.flags.includes('initialised'));
    const rows = slots.map((each) => {
      const { slot, description, token, fault } = each;
      const mark = configured.includes(each) ? '*' : '';
      if (token === null) return [mark, slot, '-', '-', description, fault === null ? 'no token' : `cannot be read: ${fault}`];
      return [mark, slot, token.label === '' ? '-' : token.label, token.serial === '' ? '-' : token.serial, token.model, tokenWords(token)];
    });
    return {
      json: { slots, configured: configured.map(({ slot }) => slot) },
      text: table(['', 'SLOT', 'LABEL', 'SERIAL', 'MODEL', 'STATE'], rows),
      faults: [
        ...(configured.length > 1 ? [`${configured.length} tokens have the label "${label}": signetd cannot tell which one to use`] : []),
        ...configured.flatMap(({ token }) => (token === null ? [] : tokenFaults(token))),
      ],
      notes: configured.length === 0 ? [`no token has the configured label "${label}" (token.label)`] : [],
    };
  });
}
