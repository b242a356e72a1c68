const maxCharacters = 300;

/**
 * Returns a gateway's text for the caller: one line, shortened, without control characters and
 * without the gateway's secrets.
 */
export function printable(text: string, secrets: readonly string[], max = maxCharacters): string | undefined {
  const line = withoutSecrets(text, secrets)
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, ' ')
    .trim()
    .toWellFormed();
  if (line === '') return undefined;
  const characters = Array.from(line.slice(0, 2 * max + 2));
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : line;
}

/** Removes secrets, since a gateway may repeat what it was sent, credentials included. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  // Longest first: one may be part of another.
  const longestFirst = secrets.filter((secret) => secret !== '').toSorted((one, other) => other.length - one.length);
  return longestFirst.reduce((left, secret) => left.replaceAll(secret, '…'), text);
}

/** Returns the forms of a secret on the wire and in responses. */
export function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const percent = encodeURIComponent(secret);
  const strict = percent.replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams([['', secret]]).toString().slice(1);
  const encoded = [percent, strict, form].flatMap((one) => [one, one.replaceAll(/%[0-9A-F]{2}/g, (octet) => octet.toLowerCase())]);
  const html = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quoted = html.replaceAll('"', '&quot;');
  const forms = [secret, json, ...encoded, html, quoted, quoted.replaceAll("'", '&#39;'), quoted.replaceAll("'", '&#x27;')];
  return forms.filter((one, index, all) => all.indexOf(one) === index);
}
