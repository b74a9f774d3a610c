/**
 * Timestamps as a server writes them: RFC 3339 with whole seconds.
 */

let lastSecond = -1;
let lastText = '';

/** @param now epoch milliseconds. The same second is asked for again and again. */
export function rfc3339(now: number): string {
  const second = Math.floor(now / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`;
  }
  return lastText;
}
