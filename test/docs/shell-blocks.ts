/** Commands of a page. */
export interface ShellBlock {
  /** The nearest heading above it, without its number signs; empty above the second heading of the page. */
  readonly heading: string;
  readonly commands: string;
  /** What the page shows as their output, if anything: a block ```text that follows at once, or the other lines of a session. */
  readonly output: string | undefined;
}

interface CodeBlock {
  readonly heading: string;
  readonly language: string;
  /** Without the indentation of a list. */
  readonly text: string;
}

/** All blocks of code of a Markdown page, in order. */
export function codeBlocks(page: string): CodeBlock[] {
  let heading = '';
  return Array.from(page.matchAll(/^##+ ([^\n]+)$|^( *)```(\w*)\n(.*?)^\2```$/gms), (match): CodeBlock | undefined => {
    const [, newHeading, indentation = '', language = '', text = ''] = match;
    if (newHeading === undefined) return { heading, language, text: text.replaceAll(new RegExp(`^${indentation}`, 'gm'), '') };
    heading = newHeading.replaceAll('`', '');
    return undefined;
  }).filter((block) => block !== undefined);
}

/** The blocks ```sh of a Markdown page, in order; under one heading only, if it is given. */
export function shellBlocks(page: string, heading?: string): ShellBlock[] {
  const blocks = codeBlocks(page);
  return blocks.flatMap(({ language, text, heading: own }, index) => {
    if (language !== 'sh' || (heading !== undefined && own !== heading)) return [];
    const next = blocks[index + 1];
    return [{ heading: own, commands: text, output: next?.language === 'text' ? next.text : undefined }];
  });
}

/** The blocks ```console of a Markdown page: sessions in which commands, after `$ `, are followed by their output. */
export function sessions(page: string, heading?: string): ShellBlock[] {
  return codeBlocks(page).flatMap(({ language, text, heading: own }) => {
    if (language !== 'console' || (heading !== undefined && own !== heading)) return [];
    return text.split(/^\$ /m).flatMap((part) => {
      const [command = ''] = /^(?:[^\n]*\\\n)*[^\n]*\n/.exec(part) ?? [];
      return command === '' ? [] : [{ heading: own, commands: command, output: part.slice(command.length) }];
    });
  });
}
