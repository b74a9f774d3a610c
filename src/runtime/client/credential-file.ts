/**
 * Credential file: a token, certificate or key on disk that is replaced now and then from outside. It is
 * read without blocking; a reading that fails (the file is being replaced) leaves the last good one.
 */
import { readFile } from 'node:fs/promises';

export class CredentialFile {
  readonly #path: string;
  #content: Buffer | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * The content now, or the last one that could be read. Rejects when it never could.
   *
   * @param kept called with the reason when it is not the current content.
   */
  async read(kept: (reason: unknown) => void): Promise<Buffer> {
    try {
      const content = await readFile(this.#path);
      // An empty file is one being written.
      if (content.length === 0) throw new Error(`${this.#path} is empty`);
      // The same object for the same content, so that a change is easily seen.
      if (this.#content === undefined || !this.#content.equals(content)) this.#content = content;
    } catch (error) {
      if (this.#content === undefined) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`the credential file cannot be read: ${reason}`, { cause: error });
      }
      kept(error);
    }
    return this.#content;
  }
}
