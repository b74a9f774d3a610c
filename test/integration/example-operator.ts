/**
 * ExampleOperator: one of examples/ on a control plane of its own, as the ServiceAccount of its config/ and with no
 * rights but those, as a process that can be killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlane } from '../../local-cluster/control-plane.ts';
import {
  grantedRights,
  type ServiceAccount,
  usedRights,
  writeServiceAccountKubeconfig,
} from './rights-audit.ts';
import { eventually } from './support.ts';

export interface ExampleOperatorOptions {
  readonly controlPlane: ControlPlane;
  /** A folder of examples/. */
  readonly example: string;
  /** As in `podsets` of `podsets-operator` in `podsets-system`. */
  readonly name: string;
  readonly env?: NodeJS.ProcessEnv;
}

export class ExampleOperator {
  readonly #options: ExampleOperatorOptions;
  readonly #account: ServiceAccount;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #output = '';

  /** Applies CRD and config/ as `make deploy` of the example does. The Deployment's Pods stay Pending. */
  static async deploy(options: ExampleOperatorOptions): Promise<ExampleOperator> {
    const { controlPlane, example } = options;
    const folder = `examples/${example}`;
    const files = ['crd.yaml', 'config/rbac.yaml', 'config/deployment.yaml'].filter((file) =>
      existsSync(join(folder, file)),
    );
    const args = files.map((file) => `--filename=${folder}/${file}`);
    await controlPlane.kubectl(['apply', '--server-side', ...args]);
    if (files.includes('crd.yaml')) {
      const wait = ['wait', '--for=condition=Established', '--timeout=60s', `--filename=${folder}/crd.yaml`];
      await controlPlane.kubectl(wait);
    }
    const operator = new ExampleOperator(options);
    await writeServiceAccountKubeconfig(controlPlane, operator.#kubeconfig, operator.#account);
    // A right that comes late would be a denied request.
    const user = `--as=system:serviceaccount:${operator.#account.namespace}:${operator.#account.name}`;
    const inForce = ['auth', 'can-i', 'create', 'leases', `--namespace=${operator.#account.namespace}`, user];
    await eventually(async () => (await controlPlane.kubectl(inForce)).trim() === 'yes', {
      message: 'the rights are in force',
    });
    return operator;
  }

  private constructor(options: ExampleOperatorOptions) {
    this.#options = options;
    this.#account = { namespace: `${options.name}-system`, name: `${options.name}-operator` };
  }

  get output(): string {
    return this.#output;
  }

  get #kubeconfig(): string {
    return join(this.#options.controlPlane.directory, `${this.#options.name}.kubeconfig`);
  }

  start(): void {
    const { example, env } = this.#options;
    const args = ['--import', './test/fixtures/atwatch-runtime.ts', `examples/${example}/main.ts`];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env, KUBECONFIG: this.#kubeconfig },
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        this.#output += data;
      });
    }
    this.#ended = new Promise((resolve) => {
      child.on('close', () => resolve());
    });
    this.#child = child;
  }

  /** Resolves when it has ended. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#child?.kill(signal);
    await this.#ended;
  }

  /** Rights that it has and did not use so far, and requests that were refused for want of one. */
  async rights(): Promise<{ readonly unused: string[]; readonly denied: string[] }> {
    const { controlPlane } = this.#options;
    const granted = await grantedRights(controlPlane, this.#account);
    const { used, denied } = await usedRights(controlPlane, granted, 0, this.#account);
    return { unused: granted.filter((right) => !used.includes(right)), denied };
  }

  /** Waits with a limit; the error has what the operator wrote. */
  async until(what: string, probe: () => Promise<boolean>, timeout = 120_000): Promise<void> {
    await eventually(probe, { timeout, interval: 100, message: what }).catch((error) => {
      throw new Error(`${error.message}, ${error.cause ?? ''}: ${this.#output.slice(-4000)}`);
    });
  }
}
