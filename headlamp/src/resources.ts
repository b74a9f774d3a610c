/** Both kinds as Headlamp knows kinds. */
import { makeCustomResourceClass } from '@kinvolk/headlamp-plugin/lib/Crd';
import { ats, configWatchers } from '../../src/api/resources.ts';

const classOf = ({ group, version, kind, plural }: typeof ats | typeof configWatchers) =>
  makeCustomResourceClass({
    apiInfo: [{ group, version }],
    kind,
    pluralName: plural,
    singularName: kind.toLowerCase(),
    isNamespaced: true,
  });

export const AtClass = classOf(ats);
export const ConfigWatcherClass = classOf(configWatchers);
