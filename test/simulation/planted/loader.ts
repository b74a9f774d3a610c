/** Plants the bug that PLANTED_BUG names into the source as it is loaded: `node --import ./loader.ts …`. */
import { registerHooks } from 'node:module';
import { plantedBugs } from './bugs.ts';

const root = new URL('../../../', import.meta.url);
const bug = plantedBugs.find(({ name }) => name === process.env.PLANTED_BUG);

if (bug !== undefined) {
  const replacements = [bug, ...(bug.also ? [bug.also] : [])];
  registerHooks({
    load(address, context, nextLoad) {
      const loaded = nextLoad(address, context);
      const planted = replacements.find(({ file }) => new URL(file, root).href === address);
      if (planted === undefined) return loaded;
      const text = String(loaded.source);
      return { ...loaded, source: text.replace(planted.find, () => planted.replace) };
    },
  });
}
