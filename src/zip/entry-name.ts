/** Length of a name in UTF-8: its field in a header has 16 bits. */
export const maxNameBytes = 0xffff;

/**
 * Checks the name of a ZIP entry: a relative path with `/` between its segments, which stays below
 * the folder that it is unpacked in, on every system (APPNOTE 4.4.17.1). Returns what is wrong, as
 * the end of a sentence about the name; undefined if nothing is.
 */
export function entryNameFault(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (!name.isWellFormed()) return 'is not well-formed Unicode';
  if (Buffer.byteLength(name) > maxNameBytes) return `has more than ${maxNameBytes} bytes in UTF-8`;
  if (/\p{Cc}/u.test(name)) return 'contains a control character';
  // The manifest of a container is XML, which has no such characters.
  if (/\p{Noncharacter_Code_Point}/u.test(name)) return 'contains a code point that is not a character';
  if (/\p{Bidi_Control}/u.test(name)) return 'contains a control character of bidirectional text';
  if (name.includes('\\')) return 'contains a backslash';
  if (name.startsWith('/')) return 'is absolute';
  if (/^[a-z]:/i.test(name)) return 'begins with the letter of a drive';
  const segments = name.split('/');
  if (segments.includes('')) return 'contains an empty segment';
  if (segments.includes('.') || segments.includes('..')) return 'contains "." or ".." as a segment';
  return undefined;
}

/** Names that stand for devices on Windows, also with an extension behind them. */
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?: *\.|$)/i;

/**
 * Checks whether Windows would unpack a valid name under another one, or not at all. Returns what
 * is wrong as `entryNameFault` does.
 * @see https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 */
export function portabilityFault(name: string): string | undefined {
  const [character] = /[:"<>|?*]/.exec(name) ?? [];
  if (character !== undefined) return `contains the character ${character}`;
  const segments = name.split('/');
  if (segments.some((segment) => /[. ]$/.test(segment))) return 'contains a segment that ends with a dot or a space';
  const device = segments.find((segment) => deviceName.test(segment));
  return device === undefined ? undefined : `contains ${JSON.stringify(device)}, which is a device on Windows`;
}

/**
 * Finds the first name that cannot be unpacked beside those before it: the same name, or the name
 * of a folder that another entry is in. Names that differ only in case or in Unicode normalisation
 * count as the same, since Windows and macOS would unpack one file over the other, and a signature
 * would then no longer fit the files. Returns its index; undefined if there is none.
 */
export function clashingName(names: readonly string[]): number | undefined {
  const root: Folder = new Map();
  const clash = names.findIndex((name) => !added(root, folded(name).split('/')));
  return clash < 0 ? undefined : clash;
}

/**
 * Returns a name without case and normalisation. Lower case alone tells final sigmas, long s and ß
 * apart.
 */
function folded(name: string): string {
  return name.normalize('NFC').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC');
}

type Folder = Map<string, Folder | 'FILE'>;

/** Adds a file and the folders that it is in; returns false if it has no place there. */
function added(root: Folder, segments: readonly string[]): boolean {
  let folder = root;
  for (const segment of segments.slice(0, -1)) {
    const next = folder.get(segment) ?? new Map<string, Folder | 'FILE'>();
    if (next === 'FILE') return false;
    folder.set(segment, next);
    folder = next;
  }
  const fileName = segments.at(-1) ?? '';
  if (folder.has(fileName)) return false;
  folder.set(fileName, 'FILE');
  return true;
}
