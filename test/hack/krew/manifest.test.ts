/** The manifests for Krew. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { krewManifest } from '../../../hack/krew/manifest.ts';

const release = { version: '1.2.3', uri: 'https://example.org/x.tar.gz', sha256: 'abc', node: '>=22.19' };

it('the manifest has what Krew demands', () => {
  const plugin = { name: 'at', shortDescription: 'Run it', description: 'Runs it.' };
  const { metadata, spec } = krewManifest(plugin, release) as {
    metadata: { name: string };
    spec: { version: string; caveats: string; platforms: { bin: string; files: { from: string }[] }[] };
  };
  const [platform] = spec.platforms;
  assert.deepEqual([metadata.name, spec.version, platform?.bin], ['at', 'v1.2.3', 'kubectl-at']);
  assert.ok(platform?.files.some(({ from }) => from === platform.bin));
  assert.match(spec.caveats, /^Node\.js 22\.19 or later/);
});
