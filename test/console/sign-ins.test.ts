import { describe, expect, it } from 'vitest';
import { SignIns } from '../../src/console/sign-ins.ts';

const minuteMs = 60_000;

function signInsAt(startMs = 1_000_000): { readonly signIns: SignIns; readonly pass: (ms: number) => void } {
  let now = startMs;
  const pass = (ms: number): void => {
    now += ms;
  };
  return { signIns: new SignIns(() => now), pass };
}

describe('sign-ins to the console', () => {
  it('take a code once', () => {
    const { signIns } = signInsAt();
    const { code } = signIns.code(7);
    expect(signIns.signIn(code)?.operator.uid).toBe(7);
    expect(signIns.signIn(code)).toBeUndefined();
  });

  it('take a code for two minutes, and the last eight of a user', () => {
    const { signIns, pass } = signInsAt();
    const ofAnother = signIns.code(8);
    const [first, second, ...others] = Array.from({ length: 9 }, () => signIns.code(7));
    const last = others.at(-1);
    if (first === undefined || second === undefined || last === undefined) throw new Error('there are nine');
    expect(signIns.signIn(first.code)).toBeUndefined();
    expect(signIns.signIn(second.code)?.operator.uid).toBe(7);
    expect(signIns.signIn(ofAnother.code)?.operator.uid).toBe(8);
    pass(2 * minuteMs);
    expect(signIns.signIn(last.code)).toBeUndefined();
  });

  it('need the cookie and the token of the same session, for eight hours', () => {
    const { signIns, pass } = signInsAt();
    const one = signIns.signIn(signIns.code(7).code);
    const other = signIns.signIn(signIns.code(7).code);
    if (one === undefined || other === undefined) throw new Error('both sign in');
    expect(signIns.operator(one)?.uid).toBe(7);
    expect(signIns.operator({ session: one.session, token: other.token })).toBeUndefined();
    expect(signIns.operator({ session: one.session, token: '' })).toBeUndefined();
    expect(signIns.operator({ session: '', token: one.token })).toBeUndefined();
    pass(8 * 60 * minuteMs - 1);
    expect(signIns.operator(one)?.uid).toBe(7);
    pass(1);
    expect(signIns.operator(one)).toBeUndefined();
  });

  it('end when the operator signs out, and only with both parts', () => {
    const { signIns } = signInsAt();
    const signedIn = signIns.signIn(signIns.code(0).code);
    if (signedIn === undefined) throw new Error('it signs in');
    signIns.signOut({ session: signedIn.session, token: '' });
    expect(signIns.operator(signedIn)?.uid).toBe(0);
    signIns.signOut(signedIn);
    expect(signIns.operator(signedIn)).toBeUndefined();
  });

  it('end all at once for one user, whose link then signs nobody in', () => {
    const { signIns } = signInsAt();
    const [mine, other] = [signIns.signIn(signIns.code(7).code), signIns.signIn(signIns.code(8).code)];
    if (mine === undefined || other === undefined) throw new Error('both sign in');
    const { code } = signIns.code(7);
    expect([signIns.end(7), signIns.end(7)]).toEqual([true, false]);
    expect([signIns.operator(mine), signIns.signIn(code), signIns.operator(other)?.uid]).toEqual([undefined, undefined, 8]);
  });

  it('have a read recorded at first, and then every ten minutes, for each view and session', () => {
    const { signIns, pass } = signInsAt();
    const [one, other] = [signIns.signIn(signIns.code(7).code), signIns.signIn(signIns.code(7).code)];
    if (one === undefined || other === undefined) throw new Error('both sign in');
    expect(signIns.isRecordDue(one, 'audit')).toBe(true);
    // What could not be recorded is still due.
    expect(signIns.isRecordDue(one, 'audit')).toBe(true);
    signIns.recorded(one, 'audit');
    expect([signIns.isRecordDue(one, 'audit'), signIns.isRecordDue(one, 'configuration'), signIns.isRecordDue(other, 'audit')]).toEqual([
      false,
      true,
      true,
    ]);
    pass(10 * minuteMs - 1);
    expect(signIns.isRecordDue(one, 'audit')).toBe(false);
    pass(1);
    expect(signIns.isRecordDue(one, 'audit')).toBe(true);
  });

  it('are eight of a user at most: a further one ends the oldest, of nobody else', () => {
    const { signIns } = signInsAt();
    const signIn = (uid: number): NonNullable<ReturnType<SignIns['signIn']>> => {
      const made = signIns.signIn(signIns.code(uid).code);
      if (made === undefined) throw new Error('it signs in');
      return made;
    };
    const other = signIn(8);
    const own = Array.from({ length: 9 }, () => signIn(7));
    expect(own.map((session) => signIns.operator(session)?.uid)).toEqual([undefined, ...Array.from({ length: 8 }, () => 7)]);
    expect(signIns.operator(other)?.uid).toBe(8);
  });
});
