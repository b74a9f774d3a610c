/**
 * Pattern: the regular expressions of Reloader's annotations (Go's RE2 syntax), for names of objects. Any user who may
 * annotate a workload writes them, so a match takes time in proportion to the length of the pattern and of the name, as
 * it does in Go, and not what a backtracking engine may take. Pure.
 */

/** Whether the name of an object matches. */
export type Pattern = (name: string) => boolean;

/** A step of the machine: all that are reached at one place of the name are followed at the same time. */
type Step =
  | { readonly type: 'character'; readonly matches: (character: string) => boolean }
  | { readonly type: 'begin' | 'end' }
  /** Goes on at each of these, relative to itself. */
  | { readonly type: 'jump'; readonly to: readonly number[] };

/** Go's own limit on a counted repetition. */
const maxRepetitions = 1000;
/** A pattern of names is seldom longer than fifty characters; each is a step, times its repetitions. */
const maxSteps = 300;
const maxNesting = 50;

/** What names of objects are made of. */
const alphabet = [...'abcdefghijklmnopqrstuvwxyz0123456789-.'];

/**
 * Reads the text as Reloader does: between `^` and `$`, which bind closer than `|`.
 *
 * @throws {SyntaxError} when it is none, or uses what no name needs: word boundaries, Unicode classes, flags but `(?i)`.
 */
export function parsePattern(text: string): Pattern {
  const [flag = ''] = /^\(\?i\)/.exec(text) ?? [];
  const parser = new Parser(`^${text.slice(flag.length)}$`, flag !== '');
  const steps = parser.parse();
  return (name) => matches(steps, name);
}

function matches(steps: readonly Step[], name: string): boolean {
  let places = new Set<number>();
  for (let index = 0; index <= name.length; index++) {
    // A match may begin at each character.
    follow(steps, 0, places, { isFirst: index === 0, isLast: index === name.length });
    if (places.has(steps.length)) return true;
    const next = new Set<number>();
    const about = { isFirst: false, isLast: index + 1 >= name.length };
    for (const place of places) {
      const step = steps[place];
      const character = name[index];
      if (step?.type !== 'character' || character === undefined || !step.matches(character)) continue;
      follow(steps, place + 1, next, about);
    }
    places = next;
  }
  return false;
}

/** Adds the places that are reached from there without a character. */
function follow(
  steps: readonly Step[],
  from: number,
  places: Set<number>,
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): void {
  const waiting = [from];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (places.has(place)) continue;
    places.add(place);
    const step = steps[place];
    const here = place;
    if (step?.type === 'jump') waiting.push(...step.to.map((distance) => here + distance));
    if ((step?.type === 'begin' && isFirst) || (step?.type === 'end' && isLast)) waiting.push(place + 1);
  }
}

const namedClasses: Readonly<Record<string, string>> = {
  ...{ alpha: 'a-zA-Z', digit: '0-9', alnum: 'a-zA-Z0-9', lower: 'a-z', upper: 'A-Z', word: 'a-zA-Z0-9_' },
  ...{ punct: '!-\\/:-@\\[-`{-~', space: ' \\t\\n\\r', xdigit: '0-9a-fA-F' },
};

const group = /\((?:\?:|\?P?<[A-Za-z_][A-Za-z0-9_]*>|(?!\?))/y;
const characterClass = /\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]/y;
const escaped = /\\([dDwWsS]|[^A-Za-z0-9])/y;
const textAnchor = /\\[Az]/y;
const repetition = /(?:([*+?])|\{(\d{1,4})(,(\d{1,4})?)?\})\??/y;
const literal = /[^()|*+?\\[\]^$]/y;

class Parser {
  readonly #text: string;
  readonly #ignoresCase: boolean;
  #at = 0;
  #nesting = 0;

  constructor(text: string, ignoresCase: boolean) {
    this.#text = text;
    this.#ignoresCase = ignoresCase;
  }

  parse(): readonly Step[] {
    const steps = this.#alternatives();
    if (this.#at < this.#text.length) throw new SyntaxError('it has a ) too many');
    return steps;
  }

  #alternatives(): readonly Step[] {
    const first = this.#sequence();
    if (this.#next('|') === undefined) return first;
    const rest = this.#alternatives();
    const split: Step = { type: 'jump', to: [1, first.length + 2] };
    return bounded([split, ...first, { type: 'jump', to: [rest.length + 1] }, ...rest]);
  }

  #sequence(): readonly Step[] {
    const steps: Step[] = [];
    while (this.#at < this.#text.length && !'|)'.includes(this.#text[this.#at] ?? '')) {
      steps.push(...this.#repeated(this.#atom()));
      bounded(steps);
    }
    return steps;
  }

  #atom(): readonly Step[] {
    if (this.#match(group)) {
      if (++this.#nesting > maxNesting) throw new SyntaxError('its groups are nested too deeply');
      const steps = this.#alternatives();
      if (this.#next(')') === undefined) throw new SyntaxError('it has a ( too many');
      this.#nesting -= 1;
      return steps;
    }
    const anchor = this.#next('^') ?? this.#next('$') ?? this.#match(textAnchor)?.[0];
    if (anchor !== undefined) return [{ type: anchor === '^' || anchor === '\\A' ? 'begin' : 'end' }];
    const text = this.#match(characterClass)?.[0] ?? this.#match(escaped)?.[0] ?? this.#match(literal)?.[0];
    if (text === undefined)
      throw new SyntaxError(`it has ${JSON.stringify(this.#text[this.#at])} where none fits`);
    return [{ type: 'character', matches: this.#characters(text) }];
  }

  /** One character or class is the same in both languages. */
  #characters(text: string): (character: string) => boolean {
    const named = text.replaceAll(/\[:(\^?)([a-z]+):\]/g, (_, negation: string, name: string) => {
      const characters = namedClasses[name];
      if (characters === undefined || negation) throw new SyntaxError(`it has the class ${name}`);
      return characters;
    });
    const first = named.replace(/^(\[\^?)\]/, '$1\\]');
    const one = new RegExp(
      `^(?:${/^[{}/-]$/.test(first) ? `\\${first}` : first})$`,
      this.#ignoresCase ? 'i' : '',
    );
    const matching = new Set(alphabet.filter((character) => one.test(character)));
    return (character) => matching.has(character);
  }

  #repeated(once: readonly Step[]): readonly Step[] {
    const [, sign, least, comma, most] = this.#match(repetition) ?? [];
    if (sign === undefined && least === undefined) return once;
    const count = Number(least ?? (sign === '+' ? 1 : 0));
    const limit =
      sign === '?' ? 1 : comma === undefined && least !== undefined ? count : Number(most ?? Infinity);
    if (count > maxRepetitions || (limit > maxRepetitions && limit !== Infinity) || limit < count) {
      throw new SyntaxError('it has a repetition that is too large');
    }
    bounded({ length: once.length * Math.max(count, limit === Infinity ? 0 : limit) });
    const optional = (steps: readonly Step[]): Step[] => [
      { type: 'jump', to: [1, steps.length + 1] },
      ...steps,
    ];
    const required = Array.from({ length: count }, () => once).flat();
    if (limit !== Infinity) {
      return bounded([...required, ...Array.from({ length: limit - count }, () => optional(once)).flat()]);
    }
    const again: Step = { type: 'jump', to: [-once.length - 1] };
    const loop = [{ type: 'jump', to: [1, once.length + 2] } as const, ...once, again];
    return bounded([...required, ...loop]);
  }

  #next(character: string): string | undefined {
    if (this.#text[this.#at] !== character) return undefined;
    this.#at += 1;
    return character;
  }

  #match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at;
    const found = expression.exec(this.#text) ?? undefined;
    if (found !== undefined) this.#at = expression.lastIndex;
    return found;
  }
}

function bounded<T extends { readonly length: number }>(steps: T): T {
  if (steps.length > maxSteps) throw new SyntaxError('it is too large');
  return steps;
}
