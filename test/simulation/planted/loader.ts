/** Plants the bug that PLANTED_BUG names into the source as it is loaded: `node --import ./loader.ts …`. */
import { registerHooks } from 'node:module';
import { plantedBugs } from './bugs.ts';

const root = new URL('../../../', import.meta.url);
const bug = plantedBugs.find(({ name }) => name === process.env.PLANTED_BUG);

if (bug !== undefined) {
  const url = new URL(bug.file, root).href;
  registerHooks({
    load(address, context, nextLoad) {
      const loaded = nextLoad(address, context);
      if (address !== url) return loaded;
      const text = String(loaded.source);
      return { ...loaded, source: text.replace(bug.find, () => bug.replace) };
    },
  });
}
