/** What the plugin needs of `node:util`, in a browser. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one.
const sequences = /[\u001b\u009b][[\]()#;?]*(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]/g;

export function stripVTControlCharacters(text: string): string {
  return text.replaceAll(sequences, '');
}
