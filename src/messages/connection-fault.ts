/** Names that Node and the mail client have for what went wrong, such as ECONNREFUSED. */
const faultName = /\bE[A-Z_]{3,30}\b/;

/**
 * Why a gateway was not reached, in words for a caller: not where it is inside the operator's network, nor what names and addresses are behind it. The
 * log has the rest.
 */
export function connectionFault(error: unknown): string {
  const text = error instanceof Error ? error.message : '';
  if (/certificate|altnames/i.test(text)) return "the gateway's certificate is not accepted";
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  const name = faultName.exec(text)?.[0] ?? (typeof code === 'string' ? faultName.exec(code)?.[0] : undefined);
  return name === undefined ? 'no connection' : `no connection (${name})`;
}

/** The same for the operator. Nothing of a message is in it. */
export function connectionFaultForLog(error: unknown): string {
  return error instanceof Error && error.message !== '' ? `no answer: ${error.message}` : 'no answer';
}
