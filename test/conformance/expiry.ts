/**
 * Conformance of a past that is forgotten: etcd was compacted, and the API server has begun anew since, so that it does
 * not serve the past from its memory.
 */
import assert from 'node:assert/strict';
import { assertRefused, newName, pathsOf, type Subject, succeeded } from './subject.ts';

export interface ExpirySubject extends Subject {
  /** From now on no API server knows what was before. */
  forgetThePast(): Promise<void>;
}

/** One thing that both servers must do alike. */
export interface ExpiryRow {
  readonly title: string;
  run(subject: ExpirySubject): Promise<void>;
}

/** ConfigMaps of one row, told apart from those of others by a label. */
class Crowd {
  readonly selector: string;
  readonly collection: string;
  readonly #subject: Subject;
  readonly #label = newName('row');

  constructor(subject: Subject) {
    this.#subject = subject;
    this.selector = `labelSelector=row%3D${this.#label}`;
    this.collection = pathsOf(subject.namespace).configMaps;
  }

  /** Creates it, and returns its version. */
  async add(letter: string): Promise<string> {
    const body = { metadata: { name: `${this.#label}-${letter}`, labels: { row: this.#label } } };
    const { body: created } = succeeded(await this.#subject.api.send('POST', this.collection, { body }));
    return created.metadata.resourceVersion;
  }

  async remove(letter: string): Promise<void> {
    succeeded(await this.#subject.api.send('DELETE', `${this.collection}/${this.#label}-${letter}`));
  }

  send(query = '', name = '') {
    const path = name === '' ? this.collection : `${this.collection}/${this.#label}-${name}`;
    return this.#subject.api.send('GET', `${path}?${name === '' ? `${this.selector}&` : ''}${query}`);
  }

  watch(query: string) {
    return this.#subject.api.watch(`${this.collection}?watch=1&timeoutSeconds=20&${this.selector}&${query}`);
  }

  /** The last letters of the names. */
  letters(objects: readonly { readonly metadata: { readonly name: string } }[]): string {
    return objects.map(({ metadata }) => metadata.name.slice(-1)).join('');
  }
}

/** Two, of which the first is gone by now, in a past that is forgotten. `version` is from before the second. */
async function withoutItsFirst(
  subject: ExpirySubject,
): Promise<{ readonly crowd: Crowd; readonly version: string }> {
  const crowd = new Crowd(subject);
  const version = await crowd.add('a');
  await crowd.add('b');
  await crowd.remove('a');
  await subject.forgetThePast();
  return { crowd, version };
}

const asList = 'sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
const tooOldPage =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

export const expiryRows: readonly ExpiryRow[] = [
  {
    title:
      'a watch from a version that is forgotten begins, says 410 and ends; one from a later version goes on',
    async run(subject) {
      const crowd = new Crowd(subject);
      const version = await crowd.add('a');
      await crowd.add('b');
      await subject.forgetThePast();
      const later = await crowd.add('c');
      const unlike = 'sendInitialEvents=false&resourceVersionMatch=NotOlderThan';
      for (const query of [`resourceVersion=${version}`, `resourceVersion=${version}&${unlike}`]) {
        const watch = await crowd.watch(query);
        assert.equal(watch.code, 200);
        await watch.ended;
        assert.equal(watch.events.length, 1, query);
        const [{ type, object } = assert.fail('it says nothing')] = watch.events;
        assert.match(object.message, new RegExp(`^too old resource version: ${version} \\(\\d+\\)$`));
        assert.deepEqual(
          [type, { ...object, message: '' }],
          [
            'ERROR',
            {
              ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: '' },
              ...{ reason: 'Expired', code: 410 },
            },
          ],
        );
      }
      const watch = await crowd.watch(`resourceVersion=${later}`);
      await crowd.add('d');
      const events = await watch.until(({ length }) => length > 0);
      watch.close();
      assert.deepEqual([events[0]?.type, crowd.letters(events.map(({ object }) => object))], ['ADDED', 'd']);
    },
  },
  {
    title: 'a watch that begins with what is there does so from a version that is forgotten as well',
    async run(subject) {
      const { crowd, version } = await withoutItsFirst(subject);
      for (const query of [`${asList}&resourceVersion=${version}`, asList, `${asList}&resourceVersion=0`]) {
        const watch = await crowd.watch(query);
        const events = await watch.until((seen) => seen.some(({ type }) => type === 'BOOKMARK'));
        watch.close();
        assert.deepEqual(
          events.map(({ type }) => type),
          ['ADDED', 'BOOKMARK'],
          query,
        );
        assert.equal(crowd.letters(events.slice(0, 1).map(({ object }) => object)), 'b');
        const { resourceVersion, annotations } = events.at(-1)?.object.metadata ?? {};
        assert.equal(annotations['k8s.io/initial-events-end'], 'true');
        assert.ok(Number(resourceVersion) > Number(version));
      }
    },
  },
  {
    title: 'a list at exactly a version that is forgotten is refused with 410, one not older than it is not',
    async run(subject) {
      const { crowd, version } = await withoutItsFirst(subject);
      const at = `resourceVersion=${version}`;
      for (const query of [
        `${at}&resourceVersionMatch=Exact`,
        `${at}&resourceVersionMatch=Exact&limit=1`,
        `${at}&limit=1`,
      ]) {
        const answer = await crowd.send(query);
        const message = 'The resourceVersion for the provided list is too old.';
        assert.deepEqual(assertRefused(answer, { code: 410, reason: 'Expired', message }), [], query);
        assert.deepEqual([answer.body.metadata, answer.body.details], [{}, undefined]);
      }
      for (const query of [
        at,
        `${at}&resourceVersionMatch=NotOlderThan`,
        `${at}&resourceVersionMatch=NotOlderThan&limit=5`,
        'resourceVersion=0',
        '',
      ]) {
        const { body } = succeeded(await crowd.send(query));
        assert.equal(crowd.letters(body.items), 'b', query);
        assert.ok(Number(body.metadata.resourceVersion) > Number(version), query);
      }
      assert.equal(succeeded(await crowd.send(at, 'b')).code, 200);
      assert.equal((await crowd.send(at, 'a')).code, 404);
    },
  },
  {
    title:
      'the next page of a list that is forgotten is refused with 410, and with a token for the rest as it is now',
    async run(subject) {
      const crowd = new Crowd(subject);
      for (const letter of 'abcde') await crowd.add(letter);
      const first = succeeded(await crowd.send('limit=2')).body;
      assert.equal(crowd.letters(first.items), 'ab');
      await crowd.remove('d');
      await crowd.remove('a');
      await crowd.add('f');
      await subject.forgetThePast();
      const token = encodeURIComponent(first.metadata.continue);
      const answer = await crowd.send(`limit=2&continue=${token}`);
      assertRefused(answer, { code: 410, reason: 'Expired', message: tooOldPage });
      assert.deepEqual(Object.keys(answer.body.metadata), ['continue']);
      const rest = encodeURIComponent(answer.body.metadata.continue);
      const second = succeeded(await crowd.send(`limit=2&continue=${rest}`)).body;
      assert.equal(crowd.letters(second.items), 'ce');
      const { resourceVersion } = second.metadata;
      assert.ok(Number(resourceVersion) > Number(first.metadata.resourceVersion));
      await crowd.add('g');
      // From here on it is one list again.
      const last = encodeURIComponent(second.metadata.continue);
      const third = succeeded(await crowd.send(`limit=2&continue=${last}`)).body;
      assert.equal(crowd.letters(third.items), 'f');
      assert.deepEqual(
        [third.metadata.resourceVersion, third.metadata.continue],
        [resourceVersion, undefined],
      );
      assert.equal(crowd.letters(succeeded(await crowd.send('limit=9')).body.items), 'bcefg');
    },
  },
];
