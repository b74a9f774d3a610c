/** How often a promise was about something. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Figures, type RunReport } from './figures.ts';
import { among, type Found, History, kept, type NamedPromise } from './history.ts';

const broken = { text: 'broken', clue: 'clue' };

function calmAnd(...answers: readonly Found[]): History {
  const promise: NamedPromise = {
    ...{ name: 'L0', sentence: 'it is so' },
    start: (history) => ({ calm: () => answers[history.time] }),
  };
  const history = new History([promise]);
  for (const time of answers.keys()) history.add({ type: 'calm', time });
  return history;
}

function reportOf({ exercises }: History): RunReport {
  const figures = { cpu: 0, simulated: 0, requests: 0, cells: [], rights: [], traceHash: '' };
  return { seed: 'seed', news: undefined, exercises, ...figures };
}

describe('a promise', () => {
  it('is exercised where it is kept or broken, and not where it is about something else', () => {
    const { exercises, violations } = calmAnd(undefined, kept, broken, [], [broken, broken]);
    assert.deepEqual(exercises, [{ name: 'L0', sentence: 'it is so', count: 4 }]);
    assert.equal(violations.length, 3);
  });

  it('is about several things where it is about one of them', () => {
    const answers: readonly (readonly [readonly Found[], Found])[] = [
      [[], undefined],
      [[undefined, undefined], undefined],
      [[undefined, kept], []],
      [
        [kept, broken, [broken]],
        [broken, broken],
      ],
    ];
    for (const [found, all] of answers)
      assert.deepEqual(
        among(found, (one) => one),
        all,
      );
  });

  it('is named where no run was about it', () => {
    const figures = new Figures();
    figures.add(reportOf(calmAnd(undefined)));
    assert.deepEqual(figures.idle, ['L0: it is so']);
    figures.add(reportOf(calmAnd(kept, kept)));
    assert.deepEqual(figures.idle, []);
    assert.match(figures.promises(), /^ +2 L0 +it is so$/);
  });
});

describe('what a replica had been shown', () => {
  it('is known as of a minute ago, however often it was shown the object since', () => {
    const history = new History([]);
    const object = (resourceVersion: string) => ({ metadata: { name: 'a', uid: 'a', resourceVersion } });
    const see = (time: number, version: string) =>
      history.add({
        ...{ type: 'seen', time, replica: 'replica-0', resource: 'ats' },
        ...{ object: object(version), gone: false },
      });
    see(1000, '1');
    for (let index = 0; index < 40; index += 1) see(400_000 + index, '2');
    const versionAt = (time: number) =>
      history.knownBy('replica-0', 'a', time)?.object.metadata.resourceVersion;
    assert.equal(versionAt(399_000), '1');
    see(500_000, '3');
    assert.deepEqual([versionAt(399_000), versionAt(499_000)], [undefined, '2']);
  });
});
