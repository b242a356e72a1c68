import { expect, test } from 'vitest';
import { Progress, type Counts, type Output } from '../progress.ts';

const counts: Counts = { files: 3, allFiles: 40, passed: 21, failed: 1, running: ['test/keys/key-pool.test.ts'] };

class Recorded implements Output {
  readonly isTTY: boolean;
  readonly columns = 60;
  text = '';

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }

  write(text: string | Uint8Array): boolean {
    this.text += String(text);
    return true;
  }
}

function shown(output: Recorded, what = counts, seconds = 0): string {
  let now = 1_000_000;
  const progress = new Progress(
    output,
    () => what,
    () => now,
  );
  now += seconds * 1000;
  progress.show();
  return output.text;
}

test('progress elsewhere than on a terminal is a line of its own, without the files at work', () => {
  expect(shown(new Recorded(false), counts, 125)).toBe('2:05  3/40 files  21 tests passed, 1 failed\n');
});

test('progress on a terminal is one line that is rewritten and never wraps', () => {
  const text = shown(new Recorded(true), counts, 5);
  const clear = '\r\u001B[2K';
  expect(text).toBe(`${clear}${'0:05  3/40 files  21 tests passed, 1 failed  test/keys/key-pool.test.ts'.slice(0, 59)}`);
  expect(text).not.toContain('\n');
});

test('progress before the first file says that the service is started', () => {
  expect(shown(new Recorded(false), { ...counts, allFiles: 0 })).toBe('0:00  starting the service\n');
});
