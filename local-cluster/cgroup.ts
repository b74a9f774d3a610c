/**
 * Control groups: one subtree for each node, so that the kubelets of two nodes, or of a node and a real kubelet of
 * this machine, do not take each other's Pods for orphans. The janitor removes it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Creates the group in every hierarchy that the machine has (version 1) or in the only one (version 2). */
export function createCgroup(name: string, root = '/sys/fs/cgroup'): void {
  if (existsSync(join(root, 'cgroup.controllers'))) {
    createUnified(name, root);
    return;
  }
  const hierarchies = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, entry.name, 'tasks')))
    .map((entry) => join(root, entry.name));
  for (const hierarchy of hierarchies) {
    const group = join(hierarchy, name);
    mkdirSync(group, { recursive: true });
    inheritCpuset(hierarchy, group);
  }
}

/** A new group of version 1 has no processors and no memory nodes, and nothing could run in it. */
function inheritCpuset(parent: string, group: string): void {
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (existsSync(join(parent, file))) {
      writeFileSync(join(group, file), readFileSync(join(parent, file)));
    }
  }
}

/** The kubelet needs every controller in its group; systemd enables them only on demand, so they are enabled here. */
function createUnified(name: string, root: string): void {
  // Only the root of all may contain both processes and groups with controllers. A container sees a root that is not.
  if (existsSync(join(root, 'cgroup.type'))) {
    moveProcesses(root, join(root, 'init'));
  }
  for (const controller of readFileSync(join(root, 'cgroup.controllers'), 'utf8').trim().split(' ')) {
    try {
      writeFileSync(join(root, 'cgroup.subtree_control'), `+${controller}`);
    } catch {
      // Some cannot be delegated; kubelet says so if it is one that it needs.
    }
  }
  mkdirSync(join(root, name), { recursive: true });
}

function moveProcesses(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const pid of readFileSync(join(from, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)) {
    try {
      writeFileSync(join(to, 'cgroup.procs'), pid);
    } catch {
      // It has ended, or is a kernel thread.
    }
  }
}
