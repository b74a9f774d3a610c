/**
 * Progress: one line that tells how long something has been going on and how far it is.
 *
 * On a terminal the line is redrawn in place; in a log a new one is written now and then.
 */
export interface Progress {
  /** Replaces the text behind the time. */
  update(text: string): void;
  /** Removes the line; `summary` takes its place, with the time that it took. */
  end(summary?: string): void;
}

export interface ProgressOutput {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** How often the line is drawn, in milliseconds. */
const intervals = { terminal: 500, log: 15_000 };

export function startProgress(title: string, output: ProgressOutput = process.stderr): Progress {
  const start = performance.now();
  const terminal = output.isTTY === true;
  let text = '';
  let columns = 0;
  const line = () =>
    [title, elapsed(performance.now() - start), text].filter((part) => part !== '').join(' · ');
  const draw = () => {
    const drawn = line();
    output.write(terminal ? `\r${drawn.padEnd(columns)}` : `${drawn}\n`);
    columns = drawn.length;
  };
  draw();
  const timer = setInterval(draw, terminal ? intervals.terminal : intervals.log);
  timer.unref();
  return {
    update(newText) {
      text = newText;
    },
    end(summary) {
      clearInterval(timer);
      if (terminal) {
        output.write(`\r${' '.repeat(columns)}\r`);
      }
      if (summary !== undefined) {
        output.write(`${summary} in ${elapsed(performance.now() - start)}\n`);
      }
    },
  };
}

/** 8 s, or 2 min 5 s. */
export function elapsed(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
