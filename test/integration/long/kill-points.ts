/** Kill points: the writes of an operator's life, as at-killer.mjs tells them, and the kills at them. */
import assert from 'node:assert/strict';

/** What every life of a story writes, and at what it is killed. */
export interface KillStory {
  /** How many writes of each kind every life has. */
  readonly writes: Readonly<Record<string, number>>;
  /** Those of its writes at which it is killed: between them the stories have every kind. */
  readonly own: RegExp;
}

export interface KilledLife {
  /** As in `POST pods #1`, over all processes. */
  readonly writes: readonly string[];
  readonly kills: readonly string[];
}

/** What the operators have written and at what they were killed, by their output. */
export function lifeOf(output: string): KilledLife {
  const found = (pattern: RegExp) => [...output.matchAll(pattern)].map(([, name = '']) => name);
  return { writes: found(/^write (.*)$/gm), kills: found(/^killed (.*)$/gm) };
}

/** How many writes there are of each kind. */
export function countWrites(writes: readonly string[]): Record<string, number> {
  const kinds = Object.groupBy(writes, (write) => write.replace(/ #\d+$/, ''));
  return Object.fromEntries(Object.entries(kinds).map(([kind, all]) => [kind, all?.length ?? 0]));
}

/** Whether it is a write that another life may not have: a slow machine writes a status more. */
export function isSpare({ writes }: KillStory, killAt: string): boolean {
  const [, kind = '', number = ''] = /^\w+ (.*) #(\d+)$/.exec(killAt) ?? [];
  return Number(number) > (writes[kind] ?? 0);
}

/** Lives one life for each of the writes of a recorded one, with a kill at that write, so many at a time. */
export async function killAtEach<T extends KilledLife>(
  story: KillStory,
  recorded: KilledLife,
  workers: number,
  live: (killAt: string) => Promise<T>,
  assertEnd: (life: T, killAt: string) => void,
): Promise<void> {
  assert.deepEqual(recorded.kills, []);
  const counts = countWrites(recorded.writes);
  for (const [kind, least] of Object.entries(story.writes)) {
    assert.ok((counts[kind] ?? 0) >= least, `${counts[kind] ?? 0} × ${kind}`);
  }
  const points = recorded.writes.filter((write) => story.own.test(write));
  const next = [`before ${recorded.writes[0]}`, ...points.map((write) => `after ${write}`)].values();
  const worker = async () => {
    for (const killAt of next) {
      const life = await live(killAt);
      assert.deepEqual(life.kills, life.kills.length === 0 && isSpare(story, killAt) ? [] : [killAt]);
      assertEnd(life, killAt);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
}
