/** Table: rows under a header, as kubectl prints them. */
import type { Style, Tone } from './style.ts';

/** A text, and how it looks on a terminal. */
export type Cell = string | { readonly text: string; readonly tone: Tone };

const gap = '   ';
/** Of the last column on a narrow terminal. */
const minWidth = 10;

/**
 * @param columns of the terminal; the last column is cut to fit. Undefined: nothing is cut.
 */
export function table(
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: Style,
  columns?: number,
): string {
  const all = [header, ...rows];
  const widths = header.map((_, index) => Math.max(...all.map((row) => lengthOf(textOf(row[index])))));
  const last = header.length - 1;
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + gap.length, 0);
  const room = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(minWidth, columns - before);
  const line = (row: readonly Cell[]) =>
    row
      .map((cell, index) => {
        const text = textOf(cell);
        const shown = index === last ? cut(text, room) : text;
        const padding = index === last ? '' : ' '.repeat((widths[index] ?? 0) - lengthOf(text));
        return style[toneOf(cell)](shown) + padding;
      })
      .join(gap)
      .trimEnd();
  return all.map((row) => `${line(row)}\n`).join('');
}

function textOf(cell: Cell | undefined): string {
  return cell === undefined ? '' : typeof cell === 'string' ? cell : cell.text;
}

function toneOf(cell: Cell): Tone {
  return typeof cell === 'string' ? 'plain' : cell.tone;
}

/** In characters. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}

export function cut(text: string, room: number): string {
  const characters = Array.from(text);
  return characters.length <= room ? text : `${characters.slice(0, Math.max(0, room - 1)).join('')}\u2026`;
}
