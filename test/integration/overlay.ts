/** A user's own overlay on config/, in a temporary folder. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { ControlPlane } from '../../local-cluster/control-plane.ts';

export interface Overlay {
  readonly namespace?: string;
  readonly namePrefix?: string;
  readonly nameSuffix?: string;
  /** Folders of config/. */
  readonly resources: readonly string[];
  readonly components?: readonly string[];
  readonly transformers?: readonly string[];
  /** As kustomize takes them. */
  readonly patches?: readonly object[];
}

/** Applies it in one `kubectl apply --server-side`. */
export async function applyOverlay(
  { kubectl }: Pick<ControlPlane, 'kubectl'>,
  overlay: Overlay,
): Promise<void> {
  await inOverlay(overlay, (directory) => kubectl(['apply', '--server-side', `--kustomize=${directory}`]));
}

/** Does something with the folder while it exists. */
export async function inOverlay<T>(overlay: Overlay, use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'atwatch-overlay-'));
  const folders = (names: readonly string[] = []) =>
    names.map((name) => relative(directory, join('config', name)));
  try {
    const kustomization = {
      ...overlay,
      resources: folders(overlay.resources),
      components: folders(overlay.components),
      transformers: folders(overlay.transformers),
    };
    await writeFile(join(directory, 'kustomization.yaml'), JSON.stringify(kustomization));
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
