/** The rules of prose: each refuses what it is for, and accepts the sentence that should stand there. */
import assert from 'node:assert/strict';
import { glob, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Alert, checkProse, findVale, whyNoVale } from '../../hack/vale/program.ts';

interface Row {
  readonly refused: readonly string[];
  readonly accepted: readonly string[];
}

const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(' ');

const rows: Readonly<Record<string, Row>> = {
  American: {
    refused: ['It has another behaviour.', 'The run was cancelled.', 'It is synchronised.'],
    accepted: ['It has another behavior.', 'The run was canceled.', 'It takes otherwise and revised words.'],
  },
  Contractions: {
    refused: ["It doesn't start.", "It can't start.", "It's done.", "You're done."],
    accepted: ['It does not start.', "The Pod's name is short.", 'It cannot start.'],
  },
  Dated: {
    refused: ['Currently it runs.', 'It is slow at the moment.'],
    accepted: ['Since version 0.1.0 it runs.', 'It uses the current content.'],
  },
  Future: {
    refused: ['The Pod will start.', "It won't start.", 'It shall start.'],
    accepted: ['The Pod starts.', 'It runs at `will`.'],
  },
  Headings: {
    refused: ['## Install The Operator', '## what to do'],
    accepted: [
      '## Install the operator',
      '## Restart Pods of a Deployment',
      '## AtwatchNoLeader',
      '## An At that waits',
      '## kubectl at',
    ],
  },
  Idioms: {
    refused: ['It works out of the box.', 'Under the hood it lists.'],
    accepted: ['It works without configuration.', 'It lists.'],
  },
  Latin: {
    refused: ['Set a time, e.g. noon.', 'The first, i.e. the oldest, wins.', 'It goes via a proxy.'],
    accepted: ['Set a time, for example noon.', 'It goes through a proxy.'],
  },
  Passive: {
    refused: ['The Pod is created by the operator.'],
    accepted: ['The operator creates the Pod.', 'The Pod is created.'],
  },
  Repetition: {
    refused: ['It reads the the status.'],
    accepted: ['It reads the status.'],
  },
  SentenceLength: {
    refused: [`It is ${words(44)}.`, `- It is ${words(44)}.`],
    accepted: [`It is ${words(43)}.`, `It is ${words(30)}. It is ${words(30)}.`],
  },
  Spelling: {
    refused: ['It restarst the Pod.'],
    accepted: [
      'It restarts the Pod.',
      'The namespace has a finalizer, in its ownerReferences.',
      'Run `restarst`.',
    ],
  },
  Terms: {
    refused: [
      'It asks the api server.',
      'It creates a pod.',
      'Create a config map.',
      'Set the timezone.',
      'On k8s it runs.',
    ],
    accepted: [
      'It asks the API server.',
      'It creates a Pod.',
      'It reads crd.yaml and k8s.io/api.',
      'The policy operator-pods is there.',
    ],
  },
  Verbless: {
    refused: [
      'No missing Pods.',
      'Recipes for both kinds.',
      'About a tenth of the CPU for each call.',
      '- Status and Events of the Pod.',
      'The following flags of the operator:',
    ],
    accepted: [
      'No Pod is missing.',
      'Run `make`.',
      'Edit the ConfigMap, and wait for the Pod.',
      'The figures of the first run come from a table.',
      'The operator asks.',
      '| flag | what for |\n| --- | --- |\n| `--x` | the name of the At |',
    ],
  },
  We: {
    refused: ['We run the command.', 'It is one of ours.', 'Tell us.'],
    accepted: ['The operator runs the command.', 'It is one of the operator.'],
  },
  Words: {
    refused: ['Simply run it.', 'Please run it.', 'Whoever runs it pays.', 'It is very easy.'],
    accepted: ['Run it.', 'The user who runs it pays.'],
  },
};

describe('the rules of prose', { skip: whyNoVale() ?? false }, async () => {
  let folder = '';
  let alerts: readonly Alert[] = [];
  const pathOf = (rule: string, kind: keyof Row, index: number) =>
    join(folder, `${rule}-${kind}-${index}.md`);
  const cases = Object.entries(rows).flatMap(([rule, row]) =>
    (['refused', 'accepted'] as const).flatMap((kind) =>
      row[kind].map((text, index) => ({ rule, kind, index, text })),
    ),
  );

  before(
    async () => {
      folder = await mkdtemp(join(tmpdir(), 'atwatch-prose-'));
      await Promise.all(
        cases.map(({ rule, kind, index, text }) => writeFile(pathOf(rule, kind, index), `${text}\n`)),
      );
      await findVale();
      alerts = await checkProse(
        cases.map(({ rule, kind, index }) => pathOf(rule, kind, index)),
        { hints: true },
      );
    },
    { timeout: 600_000 },
  );
  after(() => rm(folder, { recursive: true, force: true }));

  it('all have a row here', async () => {
    const rules: string[] = [];
    for await (const path of glob('hack/vale/styles/Atwatch/*.yml')) rules.push(basename(path, '.yml'));
    assert.deepEqual(rules.sort(), Object.keys(rows).sort());
  });

  for (const { rule, kind, index, text } of cases) {
    it(`${rule}: "${text.slice(0, 60)}" is ${kind}`, () => {
      const found = alerts
        .filter(({ path }) => path === pathOf(rule, kind, index))
        .map((alert) => alert.rule);
      if (kind === 'refused') assert.ok(found.includes(`Atwatch.${rule}`), `found: ${found.join(', ')}`);
      else
        assert.deepEqual(
          found.filter((name) => name === `Atwatch.${rule}`),
          [],
        );
    });
  }
});
