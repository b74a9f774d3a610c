/**
 * Page size: how many objects to ask for, so that a page has a fitting number of bytes whatever their size is. It is
 * learned from the pages that came.
 */
const firstPage = 50;
/** More is never asked for: a selector may leave next to nothing of what the server has to look through. */
const maxObjects = 100_000;
const megabyte = 1024 * 1024;
const smallPage = 4 * megabyte;
const largePage = 16 * megabyte;

export class PageSize {
  readonly #isFixed: boolean;
  #limit: number;

  /** @param fixed objects per page; undefined: as many as fit. */
  constructor(fixed: number | undefined) {
    this.#isFixed = fixed !== undefined;
    this.#limit = fixed ?? firstPage;
  }

  /** Objects to ask for. */
  get limit(): number {
    return this.#limit;
  }

  /** A page of that limit had so many bytes. */
  observe(bytes: number): void {
    if (this.#isFixed) return;
    if (bytes < smallPage) this.#limit = Math.min(this.#limit * 2, maxObjects);
    else if (bytes > largePage) this.#limit = Math.max(1, Math.floor(this.#limit / 2));
  }
}
