import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasForm, isPattern, logIn, WrongPin } from '../../src/token/host/pin.ts';
import { RefusedPin } from '../../src/token/host/refused-pin.ts';
import { openSession, pkcs11Code, type Session } from '../../src/token/host/session.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { DirectToken } from './direct-token.ts';

/** CKS_RW_PUBLIC_SESSION, CKS_RW_USER_FUNCTIONS. */
const [loggedOut, loggedIn] = [2, 3];

describe('the login', () => {
  let token: DirectToken;
  let refused: RefusedPin;

  beforeAll(() => {
    token = new DirectToken();
    refused = new RefusedPin(token.scratch.directory, 'own');
    refused.reserve();
    token.module.C_Logout(token.session.handle);
  });
  afterAll(() => {
    token.remove();
  });

  const state = (): number => token.module.C_GetSessionInfo(token.session.handle).state;

  /** Logs in with these bytes, and answers what was thrown. */
  function tried(text: string, session: Session = token.session, kept = refused): unknown {
    const pin = Buffer.from(text);
    try {
      logIn(session, token.path, pin, { serial: 'a', refused: kept });
      return undefined;
    } catch (error) {
      return error;
    } finally {
      // Whatever the token says.
      expect(pin).toEqual(Buffer.alloc(text.length));
    }
  }

  it('is refused with a wrong PIN, in words that tell nobody to try again', () => {
    const error = tried('000000');
    expect(error).toBeInstanceOf(WrongPin);
    expect(String(error)).toContain('the token refuses the PIN (0xa0)');
    expect(state()).toBe(loggedOut);
  });

  it('presents a PIN that was refused no second time, whatever was tried in between', () => {
    expect(String(tried('000000'))).toMatch(/^Error: the token refused this PIN at .+ \(0xa0\), and it is not tried again/);
    expect(state()).toBe(loggedOut);
  });

  it('is a wrong PIN also where the refusal cannot be kept, so that nobody starts again by himself', () => {
    const error = tried('111111', token.session, new RefusedPin(join(token.scratch.directory, 'gone'), 'own'));
    expect(error).toBeInstanceOf(WrongPin);
    expect(String(error)).toMatch(/refuses the PIN \(0xa0\), and this could not be kept: .*ENOENT/);
    expect(state()).toBe(loggedOut);
  });

  it('fails if the session is invalid, which says nothing about the PIN', () => {
    const closed = openSession(token.module, token.slot);
    token.module.C_CloseSession(closed.handle);
    const error = tried(token.scratch.pin, closed);
    expect(error).not.toBeInstanceOf(WrongPin);
    expect(pkcs11Code(error)).toBe(ckr.SESSION_HANDLE_INVALID);
    expect(state()).toBe(loggedOut);
  });

  it('succeeds with the right PIN, and also if it is done already', () => {
    expect(tried(token.scratch.pin)).toBeUndefined();
    expect(state()).toBe(loggedIn);
    expect(tried(token.scratch.pin)).toBeUndefined();
    expect(state()).toBe(loggedIn);
  });
});

describe('the form of a PIN', () => {
  it('is a POSIX extended regular expression', () => {
    expect([hasForm('^[0-9]{4}$', Buffer.from('1234')), hasForm('^[0-9]{4}$', Buffer.from('12345'))]).toEqual([true, false]);
    expect([isPattern('^[0-9]{4}$'), isPattern('(')]).toEqual([true, false]);
  });
});
