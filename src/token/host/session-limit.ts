/** The login is held by a session of its own. */
export const anchorSessions = 1;

/** The limit that the token itself tells (CK_TOKEN_INFO.ulMaxRwSessionCount); 0 is no limit, all bits set is unknown (PKCS#11 §3.2). */
export function tokenSessionFault(threads: number, maxRwSessionCount: number): string | undefined {
  if (maxRwSessionCount <= 0 || maxRwSessionCount >= 0xffffffff || threads + anchorSessions <= maxRwSessionCount) return undefined;
  return `token.threads: ${threads} threads need ${threads + anchorSessions} sessions (one more holds the login), and the token allows ${maxRwSessionCount}`;
}
