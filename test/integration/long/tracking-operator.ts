/**
 * The operator's program for At in one namespace, which tracks its Pods by a finalizer there: as the whole cluster's does,
 * and the one of a namespace does not. For tests that kill it.
 */
import { addAtController } from '../../../src/at/controller.ts';
import { testManager } from '../test-manager.ts';

const manager = testManager({ namespaces: process.argv.slice(2) });
addAtController(manager, { checksAuthors: false, tracks: true });
await manager.start(new AbortController().signal);
