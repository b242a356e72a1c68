const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const mailbox = new RegExp(
  `^(?=.{1,64}@)${atom}(?:\\.${atom})*@(?=.{1,253}$)(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`,
);

/**
 * True for an ASCII mailbox as RFC 5321 §4.1.2 has it, with a dot-string before the `@` and a fully qualified domain (§2.3.5) after it,
 * at most 254 octets (§4.5.3.1.3). Quoted local parts and address literals are not taken: no caller has an honest use for them.
 */
export function isMailbox(text: string): boolean {
  return text.length <= 254 && mailbox.test(text);
}
