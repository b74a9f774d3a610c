/** Transcript: how the demo speaks. Commands stand behind a `$`, everything else is their true output. */

const color = process.stdout.isTTY;
const bold = (text: string) => (color ? `\u001b[1m${text}\u001b[0m` : text);

export function step(title: string): void {
  console.log(`\n${bold(`== ${title}`)}`);
}

export function narrate(text: string): void {
  console.log(`\n# ${text}`);
}

export function command(line: string): void {
  console.log(`\n${bold(`$ ${line}`)}`);
}

export function output(text: string): void {
  console.log(text);
}

/**
 * Polls until `check` gives a truthy value, and gives that back.
 *
 * @throws {Error} after `limit` milliseconds, naming what was waited for and the last failure.
 */
export async function waitFor<T>(
  what: string,
  check: () => Promise<T | undefined | false>,
  limit = 50_000,
): Promise<T> {
  const deadline = performance.now() + limit;
  let last: unknown = 'nothing yet';
  while (performance.now() < deadline) {
    try {
      const value = await check();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const reason = last instanceof Error ? last.message : String(last);
  throw new Error(`waited ${limit / 1000} s for ${what}: ${reason}`);
}
