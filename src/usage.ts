/** Usage: the texts of --help. Pure. */
import { type Flag, flags, releasePodsFlags } from './flags.ts';

function described({ name, placeholder, description, default: preset, unset = 'all', env }: Flag): string[] {
  const source = env.length === 0 ? '' : `; environment: ${env.join(', ')}`;
  return [
    `  --${name}${placeholder && `=${placeholder}`}`,
    `      ${description}`,
    `      (default: ${preset === '' ? unset : preset}${source})`,
  ];
}

/** The text of `release-pods --help`. */
export function releasePodsUsage(): string {
  return [
    'atwatch release-pods: frees the Pods that an uninstalled operator still holds. It takes the finalizer',
    'of the operator off, and deletes the Pods that were never released to a node, whose commands have not',
    'run. The CRDs need not be there any more.',
    '',
    'Usage: atwatch release-pods [flags]',
    '',
    ...releasePodsFlags.flatMap(described),
    '',
    "The cluster is found as kubectl finds it: KUBECONFIG, ~/.kube/config, or the Pod's ServiceAccount. Its",
    'user needs list, patch and delete on Pods, and without --force list on Leases of all namespaces.',
    '',
  ].join('\n');
}

/** The text of `--help`. */
export function usage(): string {
  return [
    'atwatch: a Kubernetes operator for At (run a command at a time) and ConfigWatcher (restart Pods when',
    'their configuration changes).',
    '',
    'Usage: atwatch [flags]',
    '',
    ...flags.flatMap(described),
    '  --version',
    '      print the version and exit',
    '  --help',
    '      print this text and exit',
    '',
    'Usage: atwatch release-pods [flags]',
    '',
    '  Frees the Pods that an uninstalled operator still holds. See atwatch release-pods --help.',
    '',
    "The cluster is found as kubectl finds it: KUBECONFIG, ~/.kube/config, or the Pod's ServiceAccount.",
    "POD_NAMESPACE names the operator's own namespace, where its Lease lives.",
    '',
  ].join('\n');
}
