import type { Handle, PKCS11 } from 'pkcs11js';
import { operations } from '../wire/frames.ts';
import { WireError } from '../wire/fields.ts';
import { reportRequests, type ReportAnswer, type ReportName } from '../wire/reports.ts';
import { inventoryPage } from './inventory.ts';
import { judgeMechanisms, reportMechanisms } from './mechanism-report.ts';
import { probeReport } from './probe-report.ts';
import type { Session } from './session.ts';
import { reportSlots, slotNumber } from './token-report.ts';

/** The answer (JSON) to an operator's question; undefined where the code is none. @throws {WireError} for a question of wrong form. */
export function answerReport(code: number, body: Buffer, session: Session): Buffer | undefined {
  const name = reportNames.find((each) => operations[each] === code);
  if (name === undefined) return undefined;
  const outlook = { module: session.module, slot: () => session.module.C_GetSessionInfo(session.handle).slotID, session: () => session };
  return Buffer.from(JSON.stringify(makeReport(name, parseJson(body), outlook)));
}

const reportNames = ['reportSlots', 'reportMechanisms', 'reportInventory', 'reportProbe'] as const satisfies readonly ReportName[];

/** Where a report looks. Each is opened when it is asked for: not every report needs a login. */
export interface Outlook {
  readonly module: PKCS11;
  /** The slot of the configured token. */
  slot(): Handle;
  /** A session at that token, logged in. */
  session(): Session;
}

/** @throws {WireError} for a question of wrong form. */
export function makeReport(name: ReportName, question: unknown, outlook: Outlook): ReportAnswer<ReportName> {
  const { module } = outlook;
  switch (name) {
    case 'reportSlots':
      accept(name, question);
      return reportSlots(module);
    case 'reportMechanisms': {
      const { slot } = accept(name, question);
      const mechanisms = reportMechanisms(module, slot === undefined ? outlook.slot() : slotByNumber(module, slot));
      return { mechanisms, missing: judgeMechanisms(mechanisms).missing };
    }
    case 'reportInventory': {
      const { from } = accept(name, question);
      return inventoryPage(outlook.session(), from);
    }
    case 'reportProbe':
      accept(name, question);
      return probeReport(outlook.session());
  }
}

function accept<N extends ReportName>(name: N, question: unknown): ReturnType<(typeof reportRequests)[N]['parse']> {
  const parsed = reportRequests[name].safeParse(question);
  if (!parsed.success) throw new WireError(`a question of wrong form: ${parsed.error.message}`);
  // zod's type of a schema chosen by a type parameter is the union of them all.
  return parsed.data as ReturnType<(typeof reportRequests)[N]['parse']>;
}

/** @throws {RangeError} where no slot has this number. */
function slotByNumber(module: PKCS11, number: string): Handle {
  const slot = module.C_GetSlotList(false).find((each) => slotNumber(each) === number);
  if (slot === undefined) throw new RangeError(`there is no slot ${number}`);
  return slot;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new WireError('a question that is no JSON');
  }
}
