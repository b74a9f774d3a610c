/**
 * Packs the kubectl plugins for Krew, the plugin manager of kubectl: dist/krew has an archive and a manifest for each.
 *
 * usage: node hack/krew.ts URL, under which the archives will be published
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import { type KrewPlugin, krewManifest, sbomFiles } from './krew/manifest.ts';
import { reproducibleTar } from './reproducible-tar.ts';

const run = promisify(execFile);
const folder = 'dist/krew';

const plugins: readonly KrewPlugin[] = [
  {
    name: 'at',
    shortDescription: 'Run a command once, at a time, in a Pod',
    description:
      'Creates objects of the kind At from times as at(1) takes them, and lists, follows, awaits, moves, cancels and ' +
      'repeats them. The cluster needs the operator atwatch; "kubectl at doctor" says whether it is there.',
  },
  {
    name: 'configwatcher',
    shortDescription: 'Say why Pods were restarted by an edit of their configuration',
    description:
      'Lists objects of the kind ConfigWatcher, says which edit restarted a Pod, waits until an edit runs everywhere, ' +
      'and lets a change that waits begin. The cluster needs the operator atwatch; "kubectl configwatcher doctor" says ' +
      'whether it is there.',
  },
];

/** The same bytes from the same files, on every machine and at any time. */
async function pack(plugin: string): Promise<Buffer> {
  const files = [
    ...['-C', 'dist', `kubectl-${plugin}`, `kubectl_complete-${plugin}`, 'third-party-licenses.txt'],
    ...['-C', 'sbom', ...sbomFiles(plugin), '-C', '../..', 'LICENSE'],
  ];
  const options = { encoding: 'buffer', maxBuffer: 64 << 20 } as const;
  const { stdout } = await run('tar', [...reproducibleTar, '-cf', '-', ...files], options);
  return gzipSync(stdout, { level: 9 });
}

const [url] = process.argv.slice(2);
if (url === undefined || !URL.canParse(url)) {
  console.error(
    'say where the archives will be published: make krew URL=https://example.org/releases/v1.2.3',
  );
  process.exit(2);
}
const { version, engines } = JSON.parse(await readFile('package.json', 'utf8'));
await mkdir(folder, { recursive: true });
for (const plugin of plugins) {
  const archive = await pack(plugin.name);
  const file = `kubectl-${plugin.name}-${version}.tar.gz`;
  const sha256 = createHash('sha256').update(archive).digest('hex');
  const release = { version, uri: `${url.replace(/\/$/, '')}/${file}`, sha256, node: engines.node };
  await writeFile(`${folder}/${file}`, archive);
  await writeFile(
    `${folder}/${plugin.name}.yaml`,
    stringify(krewManifest(plugin, release), { lineWidth: 0 }),
  );
  console.log(`wrote ${folder}/${file} and ${folder}/${plugin.name}.yaml`);
}
