import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectNode, nodeNetwork } from '../../local-cluster/network.ts';

/** The commands that were run, on a machine where these links exist already. */
function machineWith(existing: readonly string[]) {
  const commands: string[] = [];
  const run = (command: string, args: readonly string[]) => {
    const line = [command, ...args].join(' ');
    if (existing.some((link) => line.startsWith(`ip link add ${link} `))) {
      throw new Error('RTNETLINK answers: File exists');
    }
    commands.push(line);
  };
  return { commands, run };
}

test('the first node gets the first network', () => {
  const { commands, run } = machineWith([]);
  assert.deepEqual(connectNode(42, run), nodeNetwork(0));
  assert.equal(commands[0], 'ip link add atwatch0 type veth peer name eth0 netns 42');
  assert.ok(commands.includes('ip route add 198.19.0.0/24 via 198.18.0.2'));
  assert.ok(commands.includes('nsenter --net=/proc/42/ns/net ip route add default via 198.18.0.1'));
});

test('a second node gets a network of its own', () => {
  const { run } = machineWith(['atwatch0']);
  assert.deepEqual(connectNode(42, run), {
    link: 'atwatch1',
    host: '198.18.1.1',
    node: '198.18.1.2',
    pods: '198.19.1.0/24',
  });
});

test('any other failure is one', () => {
  const run = () => {
    throw new Error('Operation not permitted');
  };
  assert.throws(() => connectNode(42, run), /Operation not permitted/);
});

test('there is an end to the networks', () => {
  const run = () => {
    throw new Error('File exists');
  };
  assert.throws(() => connectNode(42, run), /nodes are running already/);
});
