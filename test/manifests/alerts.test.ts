/** The alerts of config/prometheus: promtool runs their unit tests, and each leads to a section that helps. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { findKubectl } from '../../local-cluster/programs.ts';
import { inOverlay } from '../integration/overlay.ts';
import { goProgram, unlessMissing } from './programs.ts';
import { alerts, dashboard, type RuleFile, readRules, ruleManifest } from './queries.ts';

const unitTests = 'test/manifests/alerts.promtool.yaml';
const program = await unlessMissing(goProgram);
const options = { skip: 'skip' in program && program.skip };

interface UnitTest {
  readonly alert_rule_test: readonly {
    readonly alertname: string;
    readonly exp_alerts?: readonly object[];
  }[];
}

describe('the alerts', options, () => {
  if ('skip' in program) return;

  it('are of a form that the Prometheus operator takes, strictly', async () => {
    for (const file of [ruleManifest, 'config/prometheus/service_monitor.yaml']) {
      const { code, stderr } = await program('checks', ['monitoring', file]);
      assert.equal(code, 0, stderr);
    }
  });

  it('fire when they should and not otherwise, with a description filled in', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'atwatch-rules-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    const { groups } = await readRules();
    // promtool compares every annotation; those that are the same each time are not worth repeating.
    const described = groups.map(({ name, rules }) => ({
      name,
      rules: rules.map((rule) => ({ ...rule, annotations: { description: rule.annotations.description } })),
    }));
    await writeFile(join(directory, 'rules.yaml'), stringify({ groups: described }));
    await copyFile(unitTests, join(directory, 'tests.yaml'));
    const { code, stdout, stderr } = await program('promtool', [
      'test',
      'rules',
      join(directory, 'tests.yaml'),
    ]);
    assert.equal(code, 0, `${stdout}${stderr}`);
  });
});

describe('each alert', async () => {
  const all = await alerts();

  it('has a unit test in which it fires and one in which it does not', async () => {
    const { tests }: { tests: readonly UnitTest[] } = parse(await readFile(unitTests, 'utf8'));
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    for (const { alert } of all) {
      const fires = cases
        .filter(({ alertname }) => alertname === alert)
        .map(({ exp_alerts }) => !!exp_alerts);
      assert.deepEqual([...new Set(fires)].sort(), [false, true], alert);
    }
    const known = new Set(all.map(({ alert }) => alert));
    assert.deepEqual(
      cases.filter(({ alertname }) => !known.has(alertname)),
      [],
    );
  });

  it('says how bad it is, what is wrong, and where to read on', async () => {
    for (const { alert, labels, annotations } of all) {
      assert.ok(['critical', 'warning'].includes(labels.severity ?? ''), alert);
      assert.ok(['platform', 'tenant'].includes(labels.audience ?? ''), alert);
      assert.ok(labels.audience === 'platform' || labels.severity === 'warning', `${alert} pages tenants`);
      assert.deepEqual(Object.keys(annotations).sort(), ['description', 'runbook_url', 'summary'], alert);
      const [file = '', anchor] = annotations.runbook_url?.split('#') ?? [];
      const sections = [...(await readFile(file, 'utf8')).matchAll(/^## (.*)$/gm)].map(
        ([, title = '']) => title,
      );
      assert.ok(sections.includes(alert), `${file} has no section ${alert}`);
      assert.equal(anchor, alert.toLowerCase());
    }
  });

  it('links to its section absolutely once it is rendered, by one value', async () => {
    const { path } = await findKubectl();
    const overlay = { resources: ['default'], components: ['prometheus'] };
    const { stdout } = await inOverlay(overlay, (folder) =>
      promisify(execFile)(path, ['kustomize', folder], { maxBuffer: 16 << 20 }),
    );
    const rendered = parseAllDocuments(stdout).map((document) => document.toJSON());
    const { metadata, spec } = rendered.find(({ kind }) => kind === 'PrometheusRule');
    const base: string = metadata.annotations.runbooks;
    assert.match(base, /^https:\/\/.+\/runbooks\.md$/);
    const links = (spec as RuleFile).groups.flatMap(({ rules }) =>
      rules.map(({ alert, annotations }) => [annotations.runbook_url, `${base}#${alert.toLowerCase()}`]),
    );
    assert.equal(links.length, all.length);
    for (const [found, expected] of links) assert.equal(found, expected);
  });

  it('is the only thing that has a runbook', async () => {
    const sections = [...(await readFile('docs/runbooks.md', 'utf8')).matchAll(/^## (.*)$/gm)];
    assert.deepEqual(sections.map(([, title]) => title).sort(), all.map(({ alert }) => alert).sort());
  });
});

describe('the dashboard', async () => {
  const { panels } = await dashboard();

  it('has panels that are told apart and do not overlap', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    const titles = panels.map(({ title }) => title);
    assert.deepEqual([...new Set(titles)], titles);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => {
      assert.ok(x + w <= 24);
      return Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`);
    });
    assert.equal(new Set(cells).size, cells.length);
  });

  it('says in each panel what it shows', () => {
    for (const { type, title, description = '', targets = [] } of panels.filter(
      ({ type }) => type !== 'row',
    )) {
      assert.match(description, /\.$/, title);
      assert.ok(type !== 'row' && targets.length > 0, title);
    }
  });

  it('answers in its overview, and each answer is of now, has a color, and leads to a runbook', () => {
    const stats = panels.filter(({ type }) => type === 'stat');
    assert.deepEqual(panels.slice(1, 1 + stats.length), stats);
    for (const { title, targets = [], fieldConfig } of stats) {
      // The last answer of a range would be that of an operator that has gone since.
      assert.ok(
        targets.every(({ instant }) => instant),
        title,
      );
      assert.ok((fieldConfig?.defaults.thresholds?.steps ?? []).length > 1, title);
      assert.equal(fieldConfig?.defaults.links?.length, 1, title);
    }
  });

  it('links to runbooks of alerts that there are', async () => {
    const anchors = (await alerts()).map(({ alert }) => `\${runbooks}#${alert.toLowerCase()}`);
    const links = panels.flatMap((panel) => [
      ...(panel.links ?? []),
      ...(panel.fieldConfig?.defaults.links ?? []),
    ]);
    assert.deepEqual(
      links.map(({ url }) => url).filter((url) => !anchors.includes(url)),
      [],
    );
    assert.ok(links.length > 10);
  });
});
