const maxCharacters = 300;

/** Words of a gateway for the caller: one line, cut short, without control characters and without the gateway's secrets. */
export function printable(text: string, secrets: readonly string[], max = maxCharacters): string | undefined {
  const line = withoutSecrets(text, secrets)
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, ' ')
    .trim()
    .toWellFormed();
  if (line === '') return undefined;
  const characters = Array.from(line.slice(0, 2 * max + 2));
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : line;
}

/** A gateway may repeat what it was sent, credentials included. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.filter((secret) => secret !== '').reduce((left, secret) => left.replaceAll(secret, '…'), text);
}

/** A secret in the forms in which it goes over the wire, or comes back. */
export function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [secret, json, encodeURIComponent(secret), new URLSearchParams([['', secret]]).toString().slice(1)].filter(
    (form, index, all) => all.indexOf(form) === index,
  );
}
