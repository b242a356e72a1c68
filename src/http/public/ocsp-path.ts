/**
 * The OCSPRequest in the path of a GET (RFC 6960 A.1): base64, then URL-encoded. As clients and
 * proxies write it: `+`, `/` and `=` as they are or encoded (once or twice), `+` read as a space,
 * the alphabet of URLs, no padding, and more than one slash before it. Undefined where there is
 * none.
 */
export function requestInPath(rest: string): Uint8Array | undefined {
  const decoded = unescaped(unescaped(rest));
  if (decoded === undefined) return undefined;
  // A request begins with 0x30, so its base64 never begins with a slash.
  const text = decoded.replace(/^\/+/, '').replaceAll(' ', '+').replaceAll('-', '+').replaceAll('_', '/');
  const [digits = '', padding = ''] = text.split(/(?==)/, 1).concat(text.replace(/^[^=]*/, ''));
  if (digits === '' || !/^[A-Za-z0-9+/]+$/.test(digits) || !/^={0,2}$/.test(padding)) return undefined;
  if (digits.length % 4 === 1 || (padding !== '' && (digits.length + padding.length) % 4 !== 0)) return undefined;
  return Buffer.from(digits, 'base64');
}

function unescaped(text: string | undefined): string | undefined {
  if (text === undefined || !text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
