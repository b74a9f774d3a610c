/**
 * Command: what the container executes, from the text or the list that an At gives. Text is split by the
 * quoting rules of a POSIX shell, but nothing is expanded and no shell runs.
 */

/** Where the splitter stands. `word` is undefined between words; a quoted empty word is ''. */
interface Scan {
  readonly text: string;
  position: number;
  word: string | undefined;
  readonly words: string[];
  hasOperator: boolean;
  /** A line has ended after a word: another word would be another command. */
  lineEnded: boolean;
}

const blank = /[ \t\n]/;
/** What a backslash still escapes between double quotes. */
const escapableInQuotes = /[$`"\\]/;

/**
 * Splits `text` into words: blanks separate, single quotes keep everything, double quotes keep all but
 * `\` before `$`, `` ` ``, `"`, `\` and a line end, a backslash elsewhere keeps the next character.
 *
 * @returns the words, and whether an operator stands among them that only a shell would obey; undefined when a quote
 *   is never closed.
 */
export function splitCommand(
  text: string,
): { readonly words: readonly string[]; readonly hasOperator: boolean } | undefined {
  const scan: Scan = { text, position: 0, word: undefined, words: [], hasOperator: false, lineEnded: false };
  while (scan.position < text.length) {
    const character = text.charAt(scan.position);
    scan.position += 1;
    if (blank.test(character)) {
      endWord(scan);
      noteLineEnd(scan, character);
    } else if (character === "'" || character === '"') {
      const closed = character === "'" ? readSingleQuoted(scan) : readDoubleQuoted(scan);
      if (!closed) {
        return undefined;
      }
    } else if (character === '\\') {
      readEscaped(scan);
    } else {
      scan.hasOperator ||= isOperator(text, scan.position - 1);
      append(scan, character);
    }
  }
  endWord(scan);
  return { words: scan.words, hasOperator: scan.hasOperator };
}

function append(scan: Scan, text: string): void {
  scan.hasOperator ||= scan.lineEnded;
  scan.word = (scan.word ?? '') + text;
}

function endWord(scan: Scan): void {
  if (scan.word !== undefined) {
    scan.words.push(scan.word);
    scan.word = undefined;
  }
}

function noteLineEnd(scan: Scan, character: string): void {
  scan.lineEnded ||= character === '\n' && scan.words.length > 0;
}

/** After an unquoted backslash. At the very end of the text it stands for itself, as in a shell. */
function readEscaped(scan: Scan): void {
  const next = scan.text.charAt(scan.position);
  scan.position += 1;
  if (next !== '\n') {
    append(scan, next === '' ? '\\' : next);
  }
}

function readSingleQuoted(scan: Scan): boolean {
  const end = scan.text.indexOf("'", scan.position);
  if (end === -1) {
    return false;
  }
  append(scan, scan.text.slice(scan.position, end));
  scan.position = end + 1;
  return true;
}

function readDoubleQuoted(scan: Scan): boolean {
  append(scan, '');
  for (;;) {
    const character = scan.text.charAt(scan.position);
    const next = scan.text.charAt(scan.position + 1);
    scan.position += 1;
    if (character === '') {
      return false;
    }
    if (character === '"') {
      return true;
    }
    if (character === '\\' && (escapableInQuotes.test(next) || next === '\n')) {
      scan.position += 1;
      append(scan, next === '\n' ? '' : next);
    } else {
      append(scan, character);
    }
  }
}

/**
 * Whether the unquoted character at `position` would be a shell operator: `|`, `;`, `<`, `>`, `&&`, or `&`
 * as a word. A single `&` inside a word is left alone: that is a URL far more often than a mistake.
 */
function isOperator(text: string, position: number): boolean {
  const character = text.charAt(position);
  if (character !== '&') {
    return '|;<>'.includes(character);
  }
  const next = text.charAt(position + 1);
  const previous = text.charAt(position - 1);
  return next === '&' || ((next === '' || blank.test(next)) && (previous === '' || blank.test(previous)));
}

/**
 * Escapes `$` so that the kubelet, which expands `$(NAME)` and turns `$$` into `$`, hands the process the
 * exact text.
 */
export function escapeExpansion(text: string): string {
  return text.replaceAll('$', '$$$$');
}
