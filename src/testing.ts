/**
 * The public entry of the test kit, `@atwatch/runtime/testing`: a simulated cluster for tests of any operator, and a
 * real control plane on this machine.
 */

// biome-ignore-start lint/performance/noBarrelFile: the one deliberate entry for other packages; nothing in src imports it.
export type { Etcd } from './testing/api-server/etcd.ts';
export type { ServedResource } from './testing/api-server/served-resource.ts';
export type { SimulatedApiServer } from './testing/api-server/simulated-api-server.ts';
export type { ClusterAccess } from './testing/cluster-ports.ts';
export type { ControlPlane, ControlPlaneOptions } from './testing/control-plane.ts';
export { startControlPlane } from './testing/control-plane.ts';
export { LogLines } from './testing/log-lines.ts';
export type {
  FaultMatch,
  NetworkFault,
  NetworkFaultKind,
} from './testing/network/network-fault.ts';
export type { SimulatedLink } from './testing/network/simulated-link.ts';
export type { SimulatedNetwork } from './testing/network/simulated-network.ts';
export { Random } from './testing/random.ts';
export { MachineTime, type MachineTimeOptions, SimulatedClock } from './testing/simulated-clock.ts';
export {
  type ReplicaOptions,
  SimulatedCluster,
  type SimulatedClusterOptions,
} from './testing/simulated-cluster.ts';
export { type ProcessEnd, type ProcessPorts, SimulatedProcess } from './testing/simulated-process.ts';
export { SimulatedReplica, type SimulatedReplicaOptions } from './testing/simulated-replica.ts';
export { type RunUntil, Simulation, type SimulationOptions } from './testing/simulation.ts';
export {
  type BuildOperator,
  type RunOptions,
  type SimulatedManagerOptions,
  TestCluster,
  type TestClusterOptions,
} from './testing/test-cluster.ts';
// biome-ignore-end lint/performance/noBarrelFile: the one deliberate entry ends here.
