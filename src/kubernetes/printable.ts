/** Printable: text of others, which must not move a cursor, change a terminal or hide what stands before it. */
import { stripVTControlCharacters } from 'node:util';

/** Removes escape sequences and control characters but tabs and ends of lines. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(/[^\P{Cc}\t\n]/gu, '');
}
