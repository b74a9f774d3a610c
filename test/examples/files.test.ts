/** The files of the examples: as short as they claim, complete, and an image that has all that the program imports. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { settingsOf } from '../bench/image.ts';

/** With the plural that the names in config/ begin with. */
const examples = {
  blogpost: 'blogposts',
  crontab: 'crontabs',
  database: 'databases',
  notes: 'notes',
  podset: 'podsets',
  tunnel: 'tunnel',
};
const isProgram = (file: string) =>
  /\.ts$/.test(file) && !/\.test\.ts$|\.generated\.ts$|^(demo|killed-operator)\.ts$/.test(file);

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly object[];
  readonly spec?: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string;
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly { readonly image: string; readonly env: readonly { name: string }[] }[];
      };
    };
  };
}

interface Instruction {
  readonly name: string;
  readonly words: readonly string[];
}

/** @throws {Error} for a line that is no instruction. */
function instructionsOf(dockerfile: string): readonly Instruction[] {
  const lines = dockerfile.replaceAll('\\\n', ' ').split('\n');
  return lines
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, rest] =
        /^(FROM|WORKDIR|COPY|RUN|USER|CMD|ENV|EXPOSE|LABEL|ARG|ENTRYPOINT) (\S.*)$/.exec(line) ?? [];
      if (name === undefined || rest === undefined) throw new Error(`not an instruction: ${line}`);
      return { name, words: rest.split(/\s+/) };
    });
}

/** What is copied into the image. `from`: the stage that it is copied from; undefined: this folder. */
function copiesOf(instructions: readonly Instruction[]): { readonly file: string; readonly from?: string }[] {
  return instructions
    .filter(({ name }) => name === 'COPY')
    .flatMap(({ words }) => {
      const from = /^--from=(.+)/.exec(words[0] ?? '')?.[1];
      const files = words.slice(from === undefined ? 0 : 1, -1);
      return files.map((file) => ({ file, ...(from !== undefined && { from }) }));
    });
}

for (const [example, name] of Object.entries(examples)) {
  const folder = `examples/${example}`;
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const linesOf = (file: string) => read(file).trimEnd().split('\n').length;
  const manifests = (file: string): Manifest[] => parseAllDocuments(read(file)).map((one) => one.toJS());

  suite(`examples/${example}`, () => {
    test('is as short as it claims', () => {
      const controller = linesOf('controller.ts');
      assert.ok(controller <= 60, `controller.ts: ${controller}`);
      const sum = readdirSync(folder)
        .filter(isProgram)
        .reduce((lines, file) => lines + linesOf(file), 0);
      assert.ok(sum <= 150, `${sum} lines`);
    });

    test('has its files, and those that its README names', () => {
      const kind = example === 'tunnel' ? [] : ['crd.yaml', 'types.generated.ts'];
      for (const file of ['README.md', 'Makefile', 'main.ts', ...kind]) {
        assert.ok(existsSync(join(folder, file)), file);
      }
      for (const [row = ''] of read('README.md').matchAll(/^\| .*\.\w+.* \|/gm)) {
        for (const [file] of (row.split('|')[1] ?? '').matchAll(/[\w.-]+\.(ts|yaml)\b/g)) {
          assert.ok(existsSync(join(folder, file)), `README.md names ${file}`);
        }
      }
    });

    test('has an image with all that its program imports', () => {
      const instructions = instructionsOf(read('Dockerfile'));
      // The lock file is what `npm install` writes.
      const sources = copiesOf(instructions).filter(({ from }) => from === undefined);
      const missing = sources.filter(({ file }) => {
        return !['package-lock.json', '*.ts'].includes(file) && !existsSync(join(folder, file));
      });
      assert.deepEqual(missing, []);
      assert.ok(sources.some(({ file }) => file === '*.ts'));
      // The compiler writes what this file imports.
      const { files } = JSON.parse(read('tsconfig.build.json'));
      assert.deepEqual(files, ['main.ts']);
      const last = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
      assert.deepEqual(
        copiesOf(last).map(({ file }) => file),
        ['/operator/node_modules', '/operator/dist', 'package.json'],
      );
      const stages = instructions.filter(({ name }) => name === 'FROM').map(({ words }) => words[2]);
      for (const { from } of copiesOf(last)) assert.ok(from === undefined || stages.includes(from), from);
      const final = (one: string) => last.find(({ name }) => name === one)?.words.join(' ') ?? '';
      // With the GNU C library, which is what the settings of the allocator are for.
      assert.match(final('FROM'), /^node:24-slim/);
      // A number, so that the kubelet can tell that it is not root.
      assert.match(final('USER'), /^[1-9]\d*:[1-9]\d*$/);
    });

    test('has an image that runs as the one of this project', () => {
      const own = settingsOf(readFileSync('Dockerfile', 'utf8'));
      assert.ok(own.nodeFlags.length > 0 && Object.keys(own.env).length > 0);
      assert.deepEqual(settingsOf(read('Dockerfile')), own);
    });

    test('has rights and a Deployment that belong together', () => {
      const operator = `${name}-operator`;
      const namespace = `${name}-system`;
      const [deployment] = manifests('config/deployment.yaml');
      const { serviceAccountName, terminationGracePeriodSeconds, containers } =
        deployment?.spec?.template.spec ?? {};
      assert.equal(serviceAccountName, operator);
      assert.equal(deployment?.metadata.namespace, namespace);
      assert.ok((terminationGracePeriodSeconds ?? 0) >= 25);
      assert.match(read('Makefile'), new RegExp(`^IMG \\?= ${containers?.[0]?.image}$`, 'm'));
      for (const { name } of containers?.[0]?.env ?? []) assert.ok(read('main.ts').includes(name), name);
      const rights = manifests('config/rbac.yaml');
      const kinds = rights.map(({ kind }) => kind);
      assert.deepEqual(kinds, [
        'Namespace',
        'ServiceAccount',
        'ClusterRole',
        'ClusterRoleBinding',
        'Role',
        'RoleBinding',
      ]);
      for (const { subjects, roleRef } of rights.filter(({ kind }) => kind.endsWith('Binding'))) {
        assert.deepEqual(subjects, [{ kind: 'ServiceAccount', name: operator, namespace }]);
        assert.ok(
          rights.some(({ kind, metadata }) => kind === roleRef?.kind && metadata.name === roleRef.name),
        );
      }
    });
  });
}
