/**
 * Network: the pair of virtual interfaces between the machine and a node's network namespace.
 *
 * The kernel removes the pair, and with it the routes, when the namespace ends. Nothing else of the machine's network
 * is changed, and packets are forwarded in the namespace only.
 */
import { execFileSync } from 'node:child_process';
import { ClusterError } from './cluster-error.ts';

export interface NodeNetwork {
  /** The interface on the machine's side. */
  link: string;
  /** The machine's address there, and the node's gateway. */
  host: string;
  /** The node's address: API server, NodePorts. */
  node: string;
  /** The network of the Pods, with a route to it. */
  pods: string;
}

/** The most nodes that one machine runs at once. */
const limit = 100;

/** Set aside for tests (RFC 2544), so it is not the network of your home. */
export const testNetworks = '198.18.0.0/15';

/** Out of {@link testNetworks}. */
export function nodeNetwork(index: number): NodeNetwork {
  const [host, node] = [`198.18.${index}.1`, `198.18.${index}.2`];
  return { link: `atwatch${index}`, host, node, pods: `198.19.${index}.0/24` };
}

/** Connects the namespace of this process and gives it the first free network. */
export function connectNode(pid: number, run: Run = runIp): NodeNetwork {
  for (let index = 0; index < limit; index++) {
    const network = nodeNetwork(index);
    if (addLink(network.link, pid, run)) {
      configure(network, pid, run);
      return network;
    }
  }
  throw new ClusterError(`${limit} nodes are running already: stop one with "down"`);
}

/** Runs a command and throws with what it printed to its error stream. */
export type Run = (command: string, args: readonly string[]) => void;

/** The name of the link is what two nodes that start at once compete for. */
function addLink(link: string, pid: number, run: Run): boolean {
  try {
    run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)]);
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('File exists')) {
      return false;
    }
    throw error;
  }
}

function configure({ link, host, node, pods }: NodeNetwork, pid: number, run: Run): void {
  const here = (command: string) => run('ip', command.split(' '));
  const there = (command: string) =>
    run('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', ...command.split(' ')]);
  here(`address add ${host}/30 dev ${link}`);
  there(`address add ${node}/30 dev eth0`);
  here(`link set ${link} up`);
  there('link set eth0 up');
  here(`route add ${pods} via ${node}`);
  there(`route add default via ${host}`);
}

function runIp(command: string, args: readonly string[]): void {
  try {
    execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 10_000 });
  } catch (cause) {
    const { stderr } = cause as { stderr?: Buffer };
    throw new ClusterError(`${command} ${args.join(' ')}: ${stderr?.toString().trim() ?? cause}`, { cause });
  }
}
