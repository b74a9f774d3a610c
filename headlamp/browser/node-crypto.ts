/** What a module of the plugin imports of `node:crypto`, and none of its pages calls. */

export function hash(): never {
  throw new Error('there are no hashes in the pages');
}
