import type { Handle, PKCS11 } from 'pkcs11js';
import { operations } from '../wire/frames.ts';
import { WireError } from '../wire/fields.ts';
import type { ProbeReport } from '../wire/probe-report.ts';
import { reportRequests, type ReportAnswer, type ReportName } from '../wire/reports.ts';
import { inventoryPage } from './inventory.ts';
import { missingMechanisms, reportMechanisms } from './mechanism-report.ts';
import type { ModuleProfile } from './module-profile.ts';
import type { Probed } from './probe.ts';
import type { Session } from './session.ts';
import { reportSlots, reportToken, slotNumber } from './token-report.ts';

/**
 * Returns the answer (JSON) to an operator's question; undefined for any other operation. The
 * probe's answer is the result of the host's start, with the token's current state.
 * @throws {WireError} for a malformed question
 * @throws {RangeError} for a full probe: requests would have to wait for it
 */
export function answerReport(code: number, body: Buffer, session: Session, { rules, report }: Probed): Buffer | undefined {
  const name = reportNames.find((each) => operations[each] === code);
  if (name === undefined) return undefined;
  const { module } = session;
  const slot = (): Handle => module.C_GetSessionInfo(session.handle).slotID;
  const outlook: Outlook = {
    module,
    profile: rules.profile,
    slot,
    session: () => session,
    probe(full) {
      if (full) throw new RangeError('a serving host makes no full probe');
      return { ...report, token: reportToken(module, slot()) };
    },
  };
  return Buffer.from(JSON.stringify(makeReport(name, parseJson(body), outlook)));
}

const reportNames = ['reportSlots', 'reportMechanisms', 'reportInventory', 'reportProbe'] as const satisfies readonly ReportName[];

/** Sources of a report. Each is opened when it is needed: not every report requires a login. */
export interface Outlook {
  readonly module: PKCS11;
  readonly profile: ModuleProfile;
  /** The slot of the configured token. */
  slot(): Handle;
  /** A logged-in session on that token. */
  session(): Session;
  probe(full: boolean): ProbeReport;
}

/** @throws {WireError} for a malformed question */
export function makeReport(name: ReportName, question: unknown, outlook: Outlook): ReportAnswer<ReportName> {
  const { module, profile } = outlook;
  switch (name) {
    case 'reportSlots':
      accept(name, question);
      return reportSlots(module);
    case 'reportMechanisms': {
      const { slot } = accept(name, question);
      const handle = slot === undefined ? outlook.slot() : slotByNumber(module, slot);
      return { mechanisms: reportMechanisms(module, handle, profile), missing: missingMechanisms(module, handle, profile) };
    }
    case 'reportInventory': {
      const { from } = accept(name, question);
      return inventoryPage(outlook.session(), from);
    }
    case 'reportProbe':
      return outlook.probe(accept(name, question).full);
  }
}

function accept<N extends ReportName>(name: N, question: unknown): ReturnType<(typeof reportRequests)[N]['parse']> {
  const parsed = reportRequests[name].safeParse(question);
  if (!parsed.success) throw new WireError(`malformed question: ${parsed.error.message}`);
  // zod's type of a schema chosen by a type parameter is the union of them all.
  return parsed.data as ReturnType<(typeof reportRequests)[N]['parse']>;
}

/** @throws {RangeError} if no slot has this number */
function slotByNumber(module: PKCS11, number: string): Handle {
  const slot = module.C_GetSlotList(false).find((each) => slotNumber(each) === number);
  if (slot === undefined) throw new RangeError(`there is no slot ${number}`);
  return slot;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new WireError('the question is not JSON');
  }
}
