/**
 * kube-score and checkov over what config/ renders to, and checkov over the Dockerfile: nothing is found but what
 * waivers.ts explains, and nothing is explained there that is not found.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { installCheckov } from '../../hack/checks/programs.ts';
import { findKubectl } from '../../local-cluster/programs.ts';
import { inOverlay } from '../integration/overlay.ts';
import { overlays } from './overlays.ts';
import { goProgram, run, unlessMissing } from './programs.ts';
import { type Waiver, waivers } from './waivers.ts';

type Finding = Pick<Waiver, 'linter' | 'check' | 'of'>;

/** As people install it: `make deploy IMG=...`. */
const image = `registry.example/atwatch:0.1.0@sha256:${'0'.repeat(64)}`;

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atwatch-manifests-'));
  const { path } = await findKubectl();
  for (const [name, overlay] of Object.entries(overlays)) {
    const { stdout } = await inOverlay(overlay, (folder) =>
      promisify(execFile)(path, ['kustomize', folder], { maxBuffer: 16 << 20 }),
    );
    const manifests = stdout.replace('image: atwatch:latest', `image: ${image}`);
    await writeFile(join(directory, `${name}.yaml`), manifests);
  }
});
after(() => rm(directory, { recursive: true, force: true }));

const files = () => Object.keys(overlays).map((name) => join(directory, `${name}.yaml`));

/** An overlay may have renamed it. */
const named = (kind: string, name: string) => `${kind} ${name.replace(/^blue-/, '')}`;

interface Score {
  readonly object_name: string;
  readonly type_meta: { readonly kind: string };
  readonly object_meta: { readonly name: string };
  readonly checks: readonly {
    readonly check: { readonly id: string };
    readonly grade: number;
    readonly skipped: boolean;
  }[];
}

const perfect = 10;

function readScores(json: string): Finding[] {
  const scores: readonly Score[] = JSON.parse(json);
  assert.ok(scores.length > 0);
  return scores.flatMap(({ type_meta, object_meta, checks }) =>
    checks
      .filter(({ grade, skipped }) => !skipped && grade < perfect)
      .map(({ check }) => ({
        linter: 'kube-score' as const,
        check: check.id,
        of: named(type_meta.kind, object_meta.name),
      })),
  );
}

interface Report {
  readonly check_type: string;
  readonly results: {
    readonly failed_checks: readonly { check_id: string; resource: string; file_path: string }[];
  };
  readonly summary: { readonly passed: number; readonly parsing_errors: number };
}

function readReports(json: string): Finding[] {
  const reports: readonly Report[] = JSON.parse(json);
  assert.deepEqual(reports.map(({ check_type }) => check_type).sort(), ['dockerfile', 'kubernetes']);
  return reports.flatMap(({ check_type, results, summary }) => {
    assert.equal(summary.parsing_errors, 0);
    assert.ok(summary.passed > 0);
    return results.failed_checks.map(({ check_id, resource, file_path }) => {
      const [kind = '', , name = ''] = resource.split('.');
      const of = check_type === 'dockerfile' ? file_path : named(kind, name);
      return { linter: 'checkov' as const, check: check_id, of };
    });
  });
}

/** Compares with the waivers of this linter, in both directions. */
function assertWaived(linter: Waiver['linter'], findings: readonly Finding[]): void {
  const asText = ({ check, of }: Finding) => `${check} of ${of}`;
  const waived = waivers.filter((waiver) => waiver.linter === linter).map(asText);
  assert.deepEqual([...new Set(findings.map(asText))].sort(), waived.sort());
}

const goPrograms = await unlessMissing(goProgram);
const checkov = await unlessMissing(installCheckov);

describe('the manifests', () => {
  it('kube-score finds nothing but what is waived', {
    skip: 'skip' in goPrograms && goPrograms.skip,
  }, async () => {
    if ('skip' in goPrograms) return;
    const versions = ['--kubernetes-version=v1.31', '--enable-optional-test=container-seccomp-profile'];
    const { stdout, stderr } = await goPrograms('kube-score', [
      ...['score', '--output-format=json', ...versions],
      ...files(),
    ]);
    assert.equal(stderr, '');
    assertWaived('kube-score', readScores(stdout));
  });

  it('checkov finds nothing but what is waived', { skip: 'skip' in checkov && checkov.skip }, async () => {
    if ('skip' in checkov) return;
    const [program, ...args] = checkov.command;
    // Its rules are a part of it. Whatever else it would ask its maker for over the network, it does not.
    const offline = ['--skip-download', '--skip-results-upload', '--download-external-modules=false'];
    const what = ['--framework', 'kubernetes', 'dockerfile', '--file', ...files(), 'Dockerfile'];
    const options = ['--quiet', '--compact', '--output=json'];
    const { stdout, stderr, code } = await run(program, [...args, ...offline, ...options, ...what], {
      env: checkov.env,
    });
    assert.ok(code === 0 || code === 1, stderr);
    assertWaived('checkov', readReports(stdout));
  });

  it('are all rendered', async () => {
    const folders = (await readdir('config', { recursive: true }))
      .filter((file) => file.endsWith('/kustomization.yaml'))
      .map((file) => file.slice(0, -'/kustomization.yaml'.length));
    const used = new Set<string>();
    const use = async (folder: string) => {
      used.add(folder);
      const text = await readFile(join('config', folder, 'kustomization.yaml'), 'utf8');
      for (const [, path = ''] of text.matchAll(/^ +- (\S+)$/gm)) {
        const below = join(folder, path);
        if (folders.includes(below) && !used.has(below)) await use(below);
      }
    };
    for (const { resources, components = [], transformers = [] } of Object.values(overlays)) {
      for (const folder of [...resources, ...components, ...transformers]) await use(folder);
    }
    // The books' own, for trying out.
    assert.deepEqual(
      folders.filter((folder) => !used.has(folder)),
      ['samples'],
    );
  });
});
