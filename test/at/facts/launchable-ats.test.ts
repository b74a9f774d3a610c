import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { At } from '../../../src/api/at.generated.ts';
import { LaunchableAts } from '../../../src/at/facts/launchable-ats.ts';
import type { Pod } from '../../../src/kubernetes/objects.ts';
import type { InformerHandler } from '../../../src/runtime/cache/informer.ts';
import { FakeClock } from '../../fake/clock.ts';
import { accepted, created, dueTime, edited, timeText } from '../../fixtures/at.ts';

/** What a standby knows half a minute before an At of the fixtures is due. */
class Standby {
  readonly clock = new FakeClock({ now: dueTime - 30_000 });
  readonly pods = new Map<string, Pod>();
  departed: readonly Pod[] = [];
  wakes = 0;
  readonly launchable: LaunchableAts;
  readonly #ats = new Map<string, At>();
  #handler: InformerHandler<At> = {};

  constructor() {
    const lister = {
      get: (_namespace: string, name: string) => this.#ats.get(name),
      list: () => [...this.#ats.values()],
    };
    const addHandler = (handler: InformerHandler<At>) => {
      this.#handler = handler;
      return () => {};
    };
    const options = {
      ats: { lister, addHandler },
      pods: { get: (_namespace: string, name: string) => this.pods.get(name) },
      departed: { of: () => this.departed },
      clock: this.clock,
    };
    this.launchable = new LaunchableAts(options as never, () => {
      this.wakes += 1;
      this.launchable.look();
    });
  }

  see(at: At, name = at.metadata.name): void {
    const named = { ...at, metadata: { ...at.metadata, name } };
    this.#ats.set(name, named);
    this.#handler.onAdd?.(named, false);
  }

  get names(): string[] {
    return this.launchable.look().ats.map(({ metadata }) => metadata.name);
  }
}

describe('launchable Ats', () => {
  it('are those that are due, and lack their Pod alone', () => {
    const standby = new Standby();
    standby.see(accepted(), 'due');
    standby.see(accepted({ schedule: timeText(dueTime + 60_000) }), 'later');
    standby.see(accepted({ suspend: true }), 'suspended');
    standby.see(edited(accepted(), { command: 'echo NO' }), 'edited');
    assert.deepEqual(standby.names, []);
    standby.clock.advance(30_000);
    assert.deepEqual(standby.names, ['due']);
    const pod = created(accepted());
    standby.departed = [pod];
    assert.deepEqual(standby.names, []);
    standby.departed = [];
    standby.pods.set('due-pod', pod);
    assert.deepEqual(standby.names, []);
  });

  it('need not be looked for while none is near, and the first that comes near is told', () => {
    const standby = new Standby();
    standby.see(accepted({ schedule: timeText(dueTime + 3_600_000) }), 'far');
    assert.equal(standby.launchable.isIdle, true);
    assert.equal(standby.wakes, 0);
    standby.see(accepted(), 'near');
    assert.equal(standby.launchable.isIdle, false);
    assert.equal(standby.wakes, 1);
  });

  it('are looked at anew only when one comes that is due before all others', () => {
    const standby = new Standby();
    for (let index = 0; index < 100; index++) standby.see(accepted(), `at-${index}`);
    assert.equal(standby.wakes, 1);
    standby.see(accepted({ schedule: timeText(dueTime - 10_000) }), 'sooner');
    assert.equal(standby.wakes, 2);
    standby.clock.advance(20_000);
    standby.see(accepted({ schedule: timeText(dueTime - 10_000) }), 'sooner');
    assert.equal(standby.wakes, 2);
  });
});
