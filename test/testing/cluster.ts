/** TestCluster: a simulated cluster with controllers and nodes on virtual time. */
import type { KubernetesObject, Resource } from '../../src/kubernetes/objects.ts';
import { collectionPath, objectPath } from '../../src/runtime/client/resource-path.ts';
import { clusterResources } from '../../src/testing/api-server/cluster-resources.ts';
import { Etcd } from '../../src/testing/api-server/etcd.ts';
import { SimulatedApiServer } from '../../src/testing/api-server/simulated-api-server.ts';
import type { ClusterAccess, WriteAnswer, WriteMethod } from '../../src/testing/cluster-ports.ts';
import { startControllers } from '../../src/testing/controllers/controller-manager.ts';
import type { Kubelet } from '../../src/testing/node/kubelet.ts';
import type { KubeletOptions } from '../../src/testing/node/kubelet-options.ts';
import type { VolumeRefresh } from '../../src/testing/node/kubelet-services.ts';
import type { ContainerEnd, ContainerStart } from '../../src/testing/node/program.ts';
import { shellProgram } from '../../src/testing/node/shell-program.ts';
import { startNodes } from '../../src/testing/node/start-nodes.ts';
import { namespaces, type Pod, pods } from '../../src/testing/objects.ts';
import { Random } from '../../src/testing/random.ts';
import { VirtualTime } from './virtual-time.ts';

export interface TestClusterOptions
  extends Partial<Pick<KubeletOptions, 'program' | 'hasImage' | 'maxPods'>> {
  readonly seed?: string;
  /** Default 1. */
  readonly nodes?: number;
  /** Default true. */
  readonly controllers?: boolean;
}

export const namespace = 'test';

export class TestCluster {
  readonly time = new VirtualTime();
  readonly etcd = new Etcd();
  readonly server: SimulatedApiServer;
  readonly access: ClusterAccess;
  readonly random: Random;
  readonly kubelets: readonly Kubelet[];
  readonly starts: ContainerStart[] = [];
  readonly ends: ContainerEnd[] = [];
  readonly refreshes: VolumeRefresh[] = [];
  /** Method, path and code of every request. */
  readonly requests: string[] = [];

  constructor(options: TestClusterOptions = {}) {
    const { seed = 'test', nodes = 1, controllers = true } = options;
    this.random = new Random(seed);
    this.server = new SimulatedApiServer({
      etcd: this.etcd,
      time: this.time,
      random: this.random.fork('server'),
      name: 'a',
      resources: clusterResources,
    });
    this.server.onRequest(({ method, path }, { code }) => this.requests.push(`${method} ${path} ${code}`));
    const { etcd, server } = this;
    this.access = {
      view: {
        get: <T extends KubernetesObject>(resource: Resource<T>, of: string, name: string) =>
          etcd.get(resource, of, name) as T | undefined,
        list: <T extends KubernetesObject>(resource: Resource<T>, of?: string) =>
          etcd.list(resource, of) as T[],
        resources: () => server.resources,
      },
      changes: etcd,
      writes: server,
      time: this.time,
    };
    this.create(namespaces, { metadata: { name: namespace } });
    if (controllers) startControllers({ cluster: this.access, random: this.random.fork('controllers') });
    const { program = shellProgram, hasImage, maxPods } = options;
    this.kubelets = startNodes({
      cluster: this.access,
      random: this.random,
      count: nodes,
      program,
      hasImage: hasImage ?? ((image) => !image.includes('no-such-image')),
      ...(maxPods !== undefined && { maxPods }),
      listeners: [
        {
          onStart: (start) => this.starts.push(start),
          onEnd: (end) => this.ends.push(end),
          onRefresh: (refresh) => this.refreshes.push(refresh),
        },
      ],
    }).kubelets;
  }

  request(method: WriteMethod, path: string, body?: object, contentType?: string): WriteAnswer {
    return this.server.request('admin', method, path, body, contentType);
  }

  create<T extends KubernetesObject>(resource: Resource<T>, object: object): T {
    const answer = this.request('POST', collectionPath(resource, namespace), object);
    if (answer.code !== 201) throw new Error(answer.body);
    return JSON.parse(answer.body);
  }

  patch<T extends KubernetesObject>(resource: Resource<T>, name: string, body: object): T {
    const path = objectPath(resource, { namespace, name });
    const answer = this.request('PATCH', path, body, 'application/merge-patch+json');
    if (answer.code !== 200) throw new Error(answer.body);
    return JSON.parse(answer.body);
  }

  delete(resource: Resource, name: string, options: object = {}): WriteAnswer {
    return this.request('DELETE', objectPath(resource, { namespace, name }), options);
  }

  find<T extends KubernetesObject>(resource: Resource<T>, name: string): T | undefined {
    return this.access.view.get(resource, resource.namespaced ? namespace : '', name);
  }

  get<T extends KubernetesObject>(resource: Resource<T>, name: string): T {
    const object = this.find(resource, name);
    if (object === undefined) throw new Error(`no ${resource.kind} ${name}`);
    return object;
  }

  list<T extends KubernetesObject>(resource: Resource<T>): readonly T[] {
    return this.access.view.list(resource, resource.namespaced ? namespace : undefined);
  }

  get pods(): readonly Pod[] {
    return this.list(pods);
  }
}
