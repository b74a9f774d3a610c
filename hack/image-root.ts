/**
 * Writes what the image has beyond its base into dist/image: the bundle, the licences, and the SBOMs of the whole with
 * Node.js and the packages of the base. All of it is as old as time itself, and has the same modes whatever those of the
 * sources and the umask are, so that it is the same bytes at any time and from any clone.
 *
 *   node hack/image-root.ts BASE    run in the folder of the sources after the build
 *
 * @param BASE where the file system of the base image is.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type Component, cycloneDxOf, spdxOf } from './build/sbom.ts';

interface CycloneDxComponent {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly { readonly expression: string }[];
}

interface Bundle {
  readonly metadata: { readonly component: CycloneDxComponent };
  readonly components: readonly CycloneDxComponent[];
}

const [base] = process.argv.slice(2);
if (base === undefined) throw new Error('usage: node hack/image-root.ts BASE');

const root = 'dist/image';
rmSync(root, { recursive: true, force: true });
copyInto('atwatch.js', 'dist/atwatch.js');
copyInto('licenses/LICENSE', 'LICENSE');
copyInto('licenses/third-party-licenses.txt', 'dist/third-party-licenses.txt');
copyInto('licenses/nodejs.txt', nodeLicense(base));
writeSboms(base);
for (const path of globSync('**', { cwd: root })) {
  const file = join(root, path);
  const isProgram = path === 'atwatch.js' || statSync(file).isDirectory();
  chmodSync(file, isProgram ? 0o755 : 0o644);
  utimesSync(file, 0, 0);
}

function copyInto(path: string, source: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  copyFileSync(source, join(root, path));
}

function writeSboms(base: string): void {
  const { metadata, components }: Bundle = JSON.parse(readFileSync('dist/atwatch.cdx.json', 'utf8'));
  const product = componentOf(metadata.component);
  const all = [...components.map(componentOf), nodeComponent(base), ...debianPackages(base)];
  mkdirSync(join(root, 'usr/share/sbom'), { recursive: true });
  writeFileSync(join(root, 'usr/share/sbom/atwatch.spdx.json'), spdxOf(product, all));
  writeFileSync(join(root, 'usr/share/sbom/atwatch.cdx.json'), cycloneDxOf(product, all));
}

function nodeComponent(base: string): Component {
  const node = join(base, 'nodejs/bin/node');
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
  return { name: 'Node.js', version, purl: `pkg:generic/nodejs@${version}`, license: 'MIT' };
}

function componentOf({ name, version, purl, licenses }: CycloneDxComponent): Component {
  const [license] = licenses ?? [];
  return license === undefined
    ? { name, version, purl }
    : { name, version, purl, license: license.expression };
}

/** Distroless images keep a file for each of their packages. The licences stand in the /usr/share/doc of the base. */
function debianPackages(base: string): Component[] {
  const folder = join(base, 'var/lib/dpkg/status.d');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const status = readFileSync(join(folder, file), 'utf8');
      const name = /^Package: (\S+)$/m.exec(status)?.[1];
      const version = /^Version: (\S+)$/m.exec(status)?.[1];
      if (name === undefined || version === undefined) return [];
      return [{ name, version, purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}` }];
    });
}

/** Of the base image, or of the Node.js that builds. */
function nodeLicense(base: string): string {
  const places = [join(base, 'nodejs/LICENSE'), '/usr/local/LICENSE'];
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error(`the licence of Node.js is in none of ${places.join(', ')}`);
  return found;
}
