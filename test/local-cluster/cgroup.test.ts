import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createCgroup } from '../../local-cluster/cgroup.ts';

/** A folder that looks like the file system of the control groups. */
function cgroupRoot(t: TestContext, files: Record<string, string>) {
  const root = mkdtempSync(join(tmpdir(), 'atwatch-test-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return { root, read: (path: string) => readFileSync(join(root, path), 'utf8') };
}

test('version 1: a group in each hierarchy, with the processors of its parent', (t) => {
  const { root, read } = cgroupRoot(t, {
    'memory/tasks': '',
    'cpuset/tasks': '',
    'cpuset/cpuset.cpus': '0-1',
    'cpuset/cpuset.mems': '0',
    'unified/cgroup.procs': '',
  });
  createCgroup('mine', root);
  assert.ok(existsSync(join(root, 'memory', 'mine')));
  assert.equal(read('cpuset/mine/cpuset.cpus'), '0-1');
  assert.equal(read('cpuset/mine/cpuset.mems'), '0');
  assert.ok(!existsSync(join(root, 'unified', 'mine')), 'version 2 beside version 1 has no controllers');
});

test('version 2: one group, and the controllers are enabled for it', (t) => {
  const { root, read } = cgroupRoot(t, {
    'cgroup.controllers': 'cpu memory\n',
    'cgroup.subtree_control': '',
  });
  createCgroup('mine', root);
  assert.ok(existsSync(join(root, 'mine')));
  assert.equal(read('cgroup.subtree_control'), '+memory', 'the last one written');
  assert.ok(!existsSync(join(root, 'init')));
});

test('version 2 in a container: its processes make room first', (t) => {
  const { root, read } = cgroupRoot(t, {
    'cgroup.controllers': 'cpu\n',
    'cgroup.subtree_control': '',
    'cgroup.type': 'domain\n',
    'cgroup.procs': '1\n',
  });
  createCgroup('mine', root);
  assert.equal(read('init/cgroup.procs'), '1');
});
