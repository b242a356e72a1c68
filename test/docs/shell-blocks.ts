/** Commands of a guide, with the output that it shows for them, if any. */
export interface ShellBlock {
  readonly commands: string;
  readonly output: string | undefined;
}

/** The blocks ```sh of a Markdown page, in order; a block ```text that follows one at once is its output. */
export function shellBlocks(page: string): ShellBlock[] {
  const blocks = Array.from(page.matchAll(/^```(\w*)\n(.*?)^```$/gms), (match) => ({ language: match[1], text: match[2] ?? '' }));
  return blocks.flatMap(({ language, text }, index) => {
    if (language !== 'sh') return [];
    const next = blocks[index + 1];
    return [{ commands: text, output: next?.language === 'text' ? next.text : undefined }];
  });
}
